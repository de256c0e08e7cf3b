"""
What a cluster says of itself, folded into a CapacitySnapshot.

Objects of Kubernetes come in as JSON values, one at a time, and become small records; the records become the snapshot. Nothing
here knows a client, a clock or a network: whoever reads the cluster (`gitplacer.capacity`) hands over what it was told.
"""
