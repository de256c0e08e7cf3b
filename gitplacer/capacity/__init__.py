"""
Live clusters to capacity snapshots: the part that connects. What it reads becomes a snapshot in `gitplacer.observing`.

**Read a cluster.** `live`: one look at all of it, where to begin. `looking`: resource by resource, with what may be left out. `resources`: what is read, and so which rights
it takes. `access`, `deadlines`: requests to its API. `kubeconfig`, `programs`: the way to it, and programs that get a token. `records`: what of it is ours.

**Branches of snapshots.** `pushing`: one snapshot onto a branch. `material`: whether it says anything new. `reading`: what was pushed, as far as it is believed.
"""
