"""
What the deployment branch tells: our last pass on it, what others did since, and the past as people want to see it.

The tip's files say what is placed where; here its commits are read. A fork, a merge and a squash of what we proposed are all told
from what we pushed ourselves, and what nothing tells from an edit by hand is taken for one.
"""
