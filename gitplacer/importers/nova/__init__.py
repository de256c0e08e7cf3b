"""
Coming from Nova (SkyRay, SuperSkyRay): its SchedulePolicies, Cluster resources and annotations as this project's files.

What Nova documents is converted so that groups go where Nova would send them; what it leaves open is chosen and said. `docs/from-nova.md`
has the table of fields. Nova is closed source: the facts are from its documentation, its public examples and its CRDs.
"""

from gitplacer.importers.nova.importing import imported
from gitplacer.importers.nova.options import NovaOptions, UnknownOption

__all__ = ["NovaOptions", "UnknownOption", "imported"]
