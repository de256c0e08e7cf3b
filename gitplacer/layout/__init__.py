"""
The deployment tree while a pass changes it, one group after another.

Only what records, sentinels and marks show to be ours is written or removed; every other file is out of reach, because nothing here can
name it. A `draft` is the tree so far, and knows of no group; `needs` says which groups need a file, `groupfiles` what is in the files of a
group. What stops a decision is found before any file is touched, by `obstacles`.
"""
