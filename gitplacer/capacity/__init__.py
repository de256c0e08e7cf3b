"""Live clusters to capacity snapshots: the part that connects. What it reads becomes a snapshot in `gitplacer.observing`."""
