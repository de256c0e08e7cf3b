"""
An edit planned on the part of the fleet that it touches.

In a fleet at rest an edit that takes nothing away concerns only the clusters where its groups are: groups elsewhere stay, and groups that wait find no
more room than before. So a plan of it is made of those clusters alone, and put into the plan of the whole that is known. What does not come
out as quietly as that is planned whole.

The *base* is the last plan of the whole, which found nothing to do, and the `footing` is what else has to be known of it. A *part* is the inputs cut down
to what an edit concerns. On its clusters most groups are *bystanders*: their manifests are not read, and only the room counts that they hold. Those that
could be bystanders are kept, packed, in a `standing`. A group is *resting* if it is in the part and nothing has to be decided on it.

`edits`: which edits concern few. `part`: what is cut out for them. `planning`: the plan of an edit on its clusters. `beside`: the plan of new apps, other edits,
and clusters that are given another state, on all clusters. `settling`: what is the base after the plan was carried out.
"""

from gitplacer.inpart.beside import planned_beside
from gitplacer.inpart.footing import Footing, footing_of
from gitplacer.inpart.planning import InPart, planned_in_part
from gitplacer.inpart.settling import Settled, settled, step_of

__all__ = ["Footing", "InPart", "Settled", "footing_of", "planned_beside", "planned_in_part", "settled", "step_of"]
