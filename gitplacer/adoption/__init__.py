"""
Coming from folders that somebody keeps by hand: one for each cluster, synced by Argo CD or Flux.

`folders` finds them, `copies` reads what stands in them and compares it, `differences` turns two values into edits, `owners` finds what
syncs them, `fleetfiles` writes the fleet repo, `proving` makes the deployment tree and holds it against the folders, and `adopt` puts
these together.
"""
