"""
The nouns: frozen values and their arithmetic. Nothing here knows YAML, git or a policy.

**Of pods and nodes.** `workload`: objects, pods, gangs. `resources`, `quantity`: amounts. `labels`: requirements, taints, tolerations. `podrules`: what pods say of
other pods. `counts`: how many pods an object has on one cluster.

**Of a pass.** `decision`: what was decided, and why. `verdicts`: of which groups all verdicts are kept. `horizon`: until when an answer stands. `bystander`: a group that
is not read. `byhand`: what people did in the deployment repo. `signers`: commits that do not count.

**Of questions.** `remedy`: what would place a group. `room`: what is left. `fates`, `blasts`, `drains`: what if. `trial`: scenarios that were run. `audit`, `happening`,
`promises`: what the past says.
"""
