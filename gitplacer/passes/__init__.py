"""
The shell: passes over real repos, around the pure function in `gitplacer.hydrate`.

A pass opens what it is computed from, hydrates, and then only looks, publishes, proposes, or tells what became of an earlier one.
None of them prints, ends the process or keeps anything between two passes: progress is told to a callback, and what a pass came to is a value.
"""
