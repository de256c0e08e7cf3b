"""
The decision: which group goes where. Values in, values out; nothing here knows files or git.

To read it, begin with `plan`, which repeats rounds until nothing changes, and `rounds`, which is one of them; then follow one group
through `choice` and `offers` into a `ledger`. All modules, by the question that they answer:

**From the top.** `plan`: every group decided. `rounds`: one round, from where everything is to where everything goes. `onepass`: what all
rounds share. `order`: whose turn it is. `effort`: how long one Tenant may keep all waiting.

**May it be there?** `eligibility`: by policy, taints and the state of a cluster. `entrance`: the same, asked of thousands of clusters at once.
`nomination`: for groups that are left to Kueue. `holds`, `ties`: which groups stay exactly as they are, and which with them.

**Which clusters?** `choice`: the clusters that a group takes. `offers`: those with room, best first. `scoring`: what clusters score.
`topology`, `spreading`: copies over regions or providers. `division`, `due`: replicas divided by weight or room. `spanning`: one Ray app
over several clusters. `tries`: what was tried in vain. `evaluation`: the verdict on every cluster, for who reads a plan.

**Does it fit?** `pack`: a gang onto nodes. `stage`: whether it finds room in every order. `shapecrowd`, `ownrules`, `ownproof`: proofs that it does.
`proof`: proof that it never could. `doubts`: what was found against it earlier in the pass. `closeup`: node by node, for `explain`.

**What is free?** `nodes`, `nodeclasses`: nodes as columns, and as sorts. `asseen`, `shown`: what a snapshot shows. `arrivals`: what is promised and not seen
yet. `ledger`: all of that for one cluster. `books`: the ledgers of all. `occupancy`: which groups are where at this point of a round, in ledgers;
`presence`, `holders`, `seating`, `bystanders` are parts of it. `survey`: all nodes of the fleet in one table, which rules clusters out. `ledgercache`:
ledgers kept from one pass to the next. `reopened`: ledgers of a finished plan, for who tells what it leaves.

**Quotas and budgets.** `quotas` asks all of them. `tenantquota`: a Tenant's. `kueue`, `kueuedemand`, `kueuequota`: Kueue's. `namespacedemand`,
`namespacequota`: ResourceQuotas. `growths`, `unseen`: what edits add to either, and sums of what no snapshot counts yet. `budget`: what machines cost in an hour.

**Machines that can be added.** `additions`: which clusters may get enough of them. `autoscalers`: the cheapest set for a gang.

**Who waits.** `clearing`: room for a group that finds none. `preemption`: who leaves for it. `reservations`: room that is kept for it.

**Who moves.** `sightings`: what snapshots show of a group. `causes`: why it should leave. `stops`: why it stays all the same. `consents`, `agreement`:
Approvals. `departures`: the decision. `ways`: where to. `crossing`: a relocation over several passes.

**Edits of what runs.** `updating`: what an edit asks for. `overlaps`: old pods and new ones side by side. `sidebyside`: room for both. `underway`: an edit
that was merged and is not done. `unfit`: an edit without room.

**Clusters that sleep.** `wakes`: who wakes one. `cloning`: which one is made.

**What a group is there.** `rosters`: its pods. `onsite`: its objects. `onlookers`: whose labels matter to other pods. `outlook`, `idle`: pods that it may have
later.

**What a reviewer is told.** `apart`: a Service on another cluster. `parted`: a claim on several. `stranded`: pods that could never run. `uncounted`: what quotas
bound and nobody counted.

**For speed alone.** `compiledpack`, `compiledsurvey`: `pack` and `survey` in machine code. `foresight`: whether it will pay to load that. `journal`: which nodes
have changed. `marks`: a table of bits by cluster. `weakly`: bound methods that make no reference cycle.
"""
