"""
gitplacer: placement of Ray on many Kubernetes clusters, as a rendering step in Git.

The product is one pure function, `gitplacer.hydrate.hydrate`: the source tree, the capacity tree and
the deployment tree go in, a plan and the commits that carry it out come out. Everything that
touches git, clocks or terminals is a thin shell around it.
"""

__version__ = "0.1.0"
