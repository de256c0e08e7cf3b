"""
The source repo as values: its files, the objects in them, and what is wrong with them.

**From files to objects.** `reading`: the whole of it, where to begin. `files`: each blob parsed once. `territory`: which paths are workloads, which are platform.
`objects`, `manifests`: Kubernetes objects. `ownkinds`, `fleetspec`: our own kinds, and which Fleet counts. `workloadkinds`: kinds that users declare. `standby`:
manifests of clusters that may sleep. `edited`: files that are other texts than before.

**Who may write what.** `tenancy`: whose a file is, and what its Tenant may do. `trusted`: the Fleet as somebody trusted has it. `consent`: Approvals. `signers`:
commits that do not count. `shares`: how much one owner may have. `accounts`: ServiceAccounts that nobody brings. `allowances`: problems that an author allows.

**What is known of kinds.** `apigroups`: of Kubernetes' own. `scopes`: whether objects of a kind have a namespace. `customs`: custom resources against their CRDs.
`claims`: devices that pods claim. `kindnames`: kinds that are misspelt.

**What is wrong.** `pathfaults`, `oddpaths`: with paths. `blindspots`: places into which nobody looks. `alike`: what Argo CD and Flux would not read alike.
`misspelt`: annotations of ours. `namedclusters`: clusters that there are not. `domains`: spreads over labels that none has. `scores`: scores that are missing.
`managers`: the manager of a MultiKueue policy. `mentions`: which texts speak of a name.
"""
