"""
An edit planned on the part of the fleet that it touches.

In a fleet at rest an edit that takes nothing away concerns the clusters where its groups are, and nobody else: whoever is elsewhere
stays, and whoever waits finds no more room than before. So a plan of it is made of those clusters alone, and put into the plan of the whole that
is known (`footing`). What does not come out as quietly as that is planned whole.
"""

from gitplacer.inpart.beside import planned_beside
from gitplacer.inpart.footing import Footing, footing_of
from gitplacer.inpart.planning import InPart, planned_in_part
from gitplacer.inpart.settling import Settled, settled, step_of

__all__ = ["Footing", "InPart", "Settled", "footing_of", "planned_beside", "planned_in_part", "settled", "step_of"]
