"""
What happens to a group after it was placed: why it moves, how it moves, and what stops it.

`triggers` say why a group should leave a cluster, `strategies` how a relocation that takes several passes goes on, by the
`evidence` of capacity snapshots, and `guards` how much may move in a time. Nothing here knows of room: the planner asks
these modules, and looks for clusters itself.
"""
