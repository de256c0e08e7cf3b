"""
The deployment tree while a pass changes it, one group after another.

Only what records, sentinels and marks show to be ours is written or removed; every other file is out of reach, because nothing here can
name it. `layout` carries decisions out, on a `draft`, which is the tree so far and knows of no group. What stops a decision is found before any file is
touched, by `obstacles`; `foreignroot` asks before anything is planned whether the place is somebody else's.

**Files of groups.** `groupfiles`: what is in them on each cluster. `needs`: which groups need a file. `replacements`: what a file would replace. `between`: files of groups
that are between two clusters. `leftovers`: what is not wanted any more.

**Files of no group.** `beginnings`: what a cluster has before any group comes. `chartfiles`: charts. `standbyfiles`: clusters that may sleep. `tellings`: what other tools are
told. `marked`: how such files are known to be ours.
"""
