"""
Decisions as words: the only place where reasons become sentences.

Everything said here was counted elsewhere. A sentence is made from a decision's finding and from nothing that differs
between two runs on the same inputs, so it can stand in a commit. What manifests contribute (taints, selectors, paths)
is data to us: whoever prints it makes it `printable` first, as `sentence` does.

`findings`: a reason as a clause. `decisions`: what happens to a group. `plan`: the plan as a whole. `view`: a plan with everything that is told about it.
`governance`: which policy governs. `release`: what lets a held group go. `remedies`: what would place one that waits. `words`: amounts, times, places.
Problems: `manyproblems`, and, as problems of the objects concerned, what `placement` has for a reviewer under the same names: `apart`, `parted`,
`stranded`, `uncounted`.
"""

from __future__ import annotations

from gitplacer.explain.apart import called_from_afar
from gitplacer.explain.decisions import (
    ALL_CANDIDATES,
    NEAREST_CANDIDATES,
    cluster_count,
    movement,
    not_chosen,
    place,
    refused_approvals,
    sentence,
    shares,
    shortlist,
    unasked_text,
    verdict_counts,
    verdict_text,
    why,
)
from gitplacer.explain.findings import ROOM, finding_text, tally_text
from gitplacer.explain.governance import Governance, condition_text, governance, lost_text
from gitplacer.explain.manyproblems import lines_of_problems, told
from gitplacer.explain.parted import parted_claims
from gitplacer.explain.plan import (
    changes_nothing,
    cluster_change,
    computed_from,
    file_count,
    is_worth_telling,
    said_of_snapshots,
    snapshots_amiss,
    standing,
    summary,
)
from gitplacer.explain.release import release_text
from gitplacer.explain.remedies import amendment_text, found_how, nothing_found, remedy_line, way_text
from gitplacer.explain.stranded import never_to_run, never_to_run_there, problems_of
from gitplacer.explain.uncounted import not_looked_at
from gitplacer.explain.view import NoSuchGroup, PlanView, refuse_unknown
from gitplacer.explain.words import (
    LONGEST_SENTENCE,
    amount_text,
    amounts_text,
    problem_lines,
    rfc3339,
    with_place,
)

__all__ = [
    "ALL_CANDIDATES",
    "LONGEST_SENTENCE",
    "NEAREST_CANDIDATES",
    "ROOM",
    "Governance",
    "NoSuchGroup",
    "PlanView",
    "amendment_text",
    "amount_text",
    "amounts_text",
    "called_from_afar",
    "changes_nothing",
    "cluster_change",
    "cluster_count",
    "computed_from",
    "condition_text",
    "file_count",
    "finding_text",
    "found_how",
    "governance",
    "is_worth_telling",
    "lines_of_problems",
    "lost_text",
    "movement",
    "never_to_run",
    "never_to_run_there",
    "not_chosen",
    "not_looked_at",
    "nothing_found",
    "parted_claims",
    "place",
    "problem_lines",
    "problems_of",
    "refuse_unknown",
    "refused_approvals",
    "release_text",
    "remedy_line",
    "rfc3339",
    "said_of_snapshots",
    "sentence",
    "shares",
    "shortlist",
    "snapshots_amiss",
    "standing",
    "summary",
    "tally_text",
    "told",
    "unasked_text",
    "verdict_counts",
    "verdict_text",
    "way_text",
    "why",
    "with_place",
]
