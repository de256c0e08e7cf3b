"""
The shell: passes over real repos, around the pure function in `gitplacer.hydrate`.

A pass opens what it is computed from, hydrates, and then only looks, publishes, proposes, or tells what became of an earlier one.
None of them prints, ends the process or keeps anything between two passes: progress is told to a callback, and what a pass came to is a value.

**A pass.** `reconcile`: one that publishes, where to begin. `opening`: what it is computed from. `counting`: which commits of the source count, by their signatures.

**Other ends.** `looking`: nothing is published. `drawing`: a page for a browser. `proposing`: a pull request on the deployment repo, which `redated` keeps while it
stands. `aswasplanned`: only what somebody has seen planned. `telling`: what became of a plan after its merge.

**Less than a whole pass.** `quiet`: nothing has changed. `touching`: only texts have. `partly`: a change that concerns few (`inpart`). `baselines`, with `basekeys`: the plan of
a base, remembered. `seats`, `sparsely`: how some of that is kept.
"""
