"""
A pass that publishes only what somebody has seen planned.

The pass plans anew on what is there now. If something would come out otherwise than in the plan that was given, it ends before
anything is published. Then each input that has moved is put back by itself and the pass is planned once more: an input without
whose move a decision comes out as planned is what the difference is because of. An input that is not to be had any more, such
as a snapshot that was overwritten, is named for what no other explains.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.branch.byhand import by_hand
from gitplacer.formats.savedplan import MovedInput, Otherwise, SavedPlan, differences, moved, plan_of
from gitplacer.git.program import GitError
from gitplacer.git.publishing import Deployment
from gitplacer.hydrate import Hydration, Inputs, hydrate
from gitplacer.parsecache import ParseCache
from gitplacer.passes.opening import Progress, Work, opened_source
from gitplacer.problems import Rejected
from gitplacer.settings import Settings
from gitplacer.source.fleetspec import fleet_spec
from gitplacer.tree import Tree


class PlanDiffers(Exception):
    """
    Something would come out otherwise than planned, so nothing has landed. `causes` names for each difference the inputs that
    make it, each by itself; none where several do so together.
    """

    def __init__(
        self, found: tuple[Otherwise, ...], causes: Mapping[str, tuple[str, ...]], inputs: tuple[MovedInput, ...]
    ) -> None:
        super().__init__("the plan would come out otherwise now")
        self.found, self.causes, self.inputs = found, causes, inputs


class AsWasPlanned(Struct, frozen=True):
    """Consents to a pass that comes to what was planned."""

    planned: SavedPlan
    settings: Settings
    progress: Progress

    def __call__(self, hydration: Hydration, work: Work) -> None:
        """Raises PlanDiffers where something would come out otherwise."""
        now = plan_of(hydration.view)
        found = differences(self.planned, now)
        if found:
            self.progress("asking why the plan differs")
            changed = moved(self.planned, now)
            raise PlanDiffers(found, self._causes(found, changed, work.inputs, work.deployment), changed)

    def _causes(
        self, found: tuple[Otherwise, ...], changed: tuple[MovedInput, ...], inputs: Inputs, deployment: Deployment
    ) -> dict[str, tuple[str, ...]]:
        memo = ParseCache(self.settings.cache_dir)
        left: dict[str, set[str]] = {}
        for each in changed:
            with contextlib.suppress(GitError, Rejected), self._put_back(each, inputs, deployment, memo) as before:
                if before is not None:
                    again = plan_of(hydrate(before, memo=memo, with_candidates=False).view)
                    left[each.name] = {difference.name for difference in differences(self.planned, again)}
        lost = tuple(each.name for each in changed if each.name not in left)
        return {
            each.name: tuple(name for name, still in left.items() if each.name not in still) or lost for each in found
        }

    @contextlib.contextmanager
    def _put_back(
        self, change: MovedInput, inputs: Inputs, deployment: Deployment, memo: ParseCache
    ) -> Iterator[Inputs | None]:
        """The inputs with one of them as it was; None where that cannot be."""
        match change:
            case MovedInput("now", str(was)):
                yield replace(inputs, now=datetime.fromisoformat(was))
            case MovedInput("source", str(was)):
                with opened_source(replace(self.settings, rev=was), memo, work_tree=False) as source:
                    yield replace(inputs, source=source.tree, commit=source.commit)
            case MovedInput("deployment", None):
                yield replace(inputs, deployment=Tree(), deployment_commit=None, foreign={}, reverted={}, merged={})
            case MovedInput("deployment", str(was)):
                before = Deployment(deployment.repository, deployment.branch, was, None)
                others = by_hand(before, _root(inputs, memo))
                yield replace(
                    inputs, deployment=before.tree, deployment_commit=was,
                    foreign=others.foreign, reverted=others.reverted, merged=others.merged,
                )  # fmt: skip
            case _:
                yield None


def _root(inputs: Inputs, memo: ParseCache) -> str:
    """The directory of the deployment repo that is ours."""
    return fleet_spec(inputs.source, memo).deployment.root
