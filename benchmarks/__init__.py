"""
How fast gitplacer is, at which size, and what other rules would have promised; `python -m benchmarks --help` says what is measured.

Each module that can be run alone says so in its first lines.
"""
