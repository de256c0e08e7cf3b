"""
The controller: one pass after another, for a year.

What it decides is pure: how a turn ended (`turns`), what went wrong in it (`faults`), when the next one is due (`schedule`), who of several replicas
works (`lease`). What touches clocks, threads and repos is thin: `wakes` waits, `looking` asks whether anything has moved, `running` makes the passes,
`doubts` asks before a push whether the world is as it was left, `electing` keeps the lease; `sending` sends snapshots of a cluster in the same way.
Whoever wants to know what it does is an observer (`observing`); whoever knows that something has happened gives a hint
(`wakes.Wakes.hint`).
"""
