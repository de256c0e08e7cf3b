"""
What the past says: deployment commits proved from their trailers, where a group has been, which promises of capacity were kept.

All of it is read from the two repos alone. Nothing here writes, and nothing that a commit says of itself is believed before
it was computed again.
"""
