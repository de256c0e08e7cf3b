"""
Coverage-guided fuzzing of everything that reads what others wrote.

A target (`fuzzing/targets/`) is one function from bytes: it puts them through a reader and holds the answer against what the
reader promises, which is always more than not to fall over. `engine` lets atheris drive a target in a process of its own, and keeps what
breaks it under `found/`, where an ordinary test tries it again without atheris. `corpus/` is where a run begins. An input may take
a second or a few of the processor and no more, also those that `swelling` makes long when the run is over.

Each target has a bug that can be planted in what it tests. If a minute does not find that, a minute without a find says little.
"""
