"""
What a cluster says of itself, folded into a CapacitySnapshot.

Objects of Kubernetes come in as JSON values, one at a time, and become small records; the records become the snapshot. Nothing
here knows a client, a clock or a network: whoever reads the cluster (`gitplacer.capacity`) hands over what it was told.

`observation` puts it together and `writing` makes the file. `nodes`, `pods`, `machines`, `queues` (Kueue's), `equipment` and `kuberay` read one sort of objects each.
Pods of ours: `placed` knows which objects are ours, `owners` follows a pod to one of them, `states` tells how far it is and `pending` why a pod waits. Pods of others: `listing`.
`hubs`: clusters that only a hub knows. `newcluster`: the Cluster that a fleet begins with. `times`: times as Kubernetes writes them.
"""
