"""
Passes for those who only look: plan what is there, hold it against another revision, rehearse a change.

Nothing is published or written, but for what was parsed, which the next pass need not parse again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator
from functools import cached_property, partial

from msgspec import Struct, field
from msgspec.structs import replace

from gitplacer.comparison import compare
from gitplacer.git.publishing import Deployment
from gitplacer.git.reading import NoSuchFolder, Repository
from gitplacer.hydrate import Hydration, Inputs, hydrate
from gitplacer.model.verdicts import OF_ALL_WAITING, OF_WAITING, OUTGROWN, Verdicts
from gitplacer.parsecache import ParseCache
from gitplacer.passes.basekeys import place_of
from gitplacer.passes.baselines import BasePlan
from gitplacer.passes.counting import Counting
from gitplacer.passes.opening import (
    Deployments,
    Opened,
    Progress,
    deployment_address,
    inputs_of,
    opened_source,
    was_used_by,
)
from gitplacer.passes.seats import ledgers_beside
from gitplacer.placement.ledgercache import LedgerCache
from gitplacer.placement.plan import Plan
from gitplacer.problems import Rejected
from gitplacer.remedies import waits
from gitplacer.review import Base
from gitplacer.runners.manyfiles import parsed_together
from gitplacer.settings import Settings
from gitplacer.snapshot import Snapshot
from gitplacer.tree import Changes, Tree


class Looked(Struct, frozen=True):
    """
    The source as it was asked for, and all that a pass on it depends on. `memo` knows what was parsed, and `ledgers` what was found out
    about clusters, for whoever plans several times; `deployment` is None where no deployment repo was named.
    """

    source: Opened
    inputs: Inputs
    memo: ParseCache
    deployment: Deployment | None = None
    ledgers: LedgerCache = field(default_factory=LedgerCache)

    @property
    def has_lost_its_branch(self) -> bool:
        """
        Whether the deployment repo has no such branch, and has what passes keep beside theirs: those on this source, where its history is at hand.
        """
        deployment, source = self.deployment, self.source.repository
        if deployment is None or deployment.tip is not None or deployment.inputs_tip is None:
            return False
        return source is None or was_used_by(deployment, source)


@contextlib.contextmanager
def looked_at(settings: Settings, *, work_tree: bool, progress: Progress) -> Iterator[Looked]:
    """For those who only look, readable while the context lasts; what is parsed meanwhile is kept."""
    memo = ParseCache(settings.cache_dir, parse_many=parsed_together)
    progress("reading the source")
    is_trusted = settings.trust_base is not None
    with contextlib.ExitStack() as stack:
        deployments = Deployments(
            settings, lambda spec: deployment_address(settings, spec, trusted=is_trusted), stack, progress
        )
        counting = Counting(memo, settings.folder, deployments.last_source)
        source = stack.enter_context(opened_source(settings, memo, work_tree=work_tree, counting=counting))
        deployment = deployments.of(source.spec)
        progress("planning")
        fleet = place_of(deployment, settings.folder) if deployment is not None else ""
        yield Looked(source, inputs_of(settings, source, deployment), memo, deployment, ledgers_beside(memo, fleet))
        memo.save()


class Against:
    """What the source is held against, once it is planned: who asks for `base` before waits for it."""

    def __init__(self, base: Base, plan: BasePlan | None) -> None:
        self._base = base
        self._plan = plan

    @property
    def is_known(self) -> bool:
        """Whether nobody has to wait for it."""
        return self._plan is None or self._plan.is_known

    @cached_property
    def base(self) -> Base:
        """One that has no readable fleet has no plan."""
        try:
            return replace(self._base, plan=self._plan.plan()) if self._plan is not None else self._base
        except (Rejected, NoSuchFolder):
            return self._base  # the change is what makes a fleet of it, and all of it is its work

    def in_part(self) -> tuple[Hydration, Base] | None:
        """The plan of the source made of those clusters alone that its change touches, and the base as far as they go; None where the whole has to be planned."""
        found = self._plan.changed_in_part() if self._plan is not None else None
        return (found.hydration, replace(self._base, plan=found.base)) if found is not None else None

    def beside(self, asked: Verdicts) -> Hydration | None:
        """The plan of the source made beside all who stay whatever it changes; None where the whole has to be planned."""
        return self._plan.changed_beside(asked) if self._plan is not None else None


@contextlib.contextmanager
def base_of(settings: Settings, looked: Looked, rev: str) -> Iterator[Against]:
    """
    What the source is held against: the plan of another revision of it, from the same capacity, deployment repo and time. Raises
    NoSuchRevision. The plan's files are readable while the context lasts.
    """
    with Repository.open(settings.source, settings.cache_dir, fetch=rev) as repository, contextlib.ExitStack() as stack:
        found = repository.commit(rev)
        plan = None
        with contextlib.suppress(Rejected, NoSuchFolder):
            source = partial(repository.tree, found.id, settings.folder)
            tree = repository.tree_id(found.id, settings.folder)
            place = place_of(looked.deployment, settings.folder) if looked.deployment is not None else ""
            plan = BasePlan(looked.inputs, tree, source, looked.memo, looked.ledgers, place=place)
            stack.callback(plan.close)
        head = looked.inputs.commit.id if looked.inputs.commit is not None else repository.default_branch_tip()
        lacks = repository.count_lacking(found.id, head)
        yield Against(Base(name=rev, commit=found.id, plan=None, lacks=lacks), plan)


def hydrated_against(looked: Looked, against: Against, *, whole: bool = False) -> tuple[Hydration, Base]:
    """
    The source planned, and what it is held against. Where the part of the fleet that its change touches tells of the whole, or those whom it concerns
    beside all who stay, that is all that is planned, unless the `whole` is to be told.
    """
    in_part = against.in_part() if not whole else None
    return in_part if in_part is not None else (_told_against(looked, against, whole=whole), against.base)


def _told_against(looked: Looked, against: Against, *, whole: bool) -> Hydration:
    """
    The plan with every cluster's verdict on the groups that wait because of the change, for whoever tells of no others. Those
    that wait at the base too and wait otherwise with the change are known only then, and it is planned again for them. While the base is still
    being planned those count that waited already when their records were written.
    """

    def planned(asked: Verdicts) -> Hydration:
        beside = against.beside(asked) if not whole else None
        return beside if beside is not None else _hydrated(looked, asked)

    of_waiting = OF_ALL_WAITING if whole else OF_WAITING
    guessed = None if against.is_known else planned(replace(of_waiting, new=True))
    before = against.base.plan
    known = frozenset(d.group for d in before.decisions if waits(d)) if before is not None else frozenset[str]()
    made = planned(replace(of_waiting, but=known)) if guessed is None else guessed
    waiting = frozenset(d.group for d in made.view.plan.decisions if waits(d))
    both = known & waiting
    otherwise = both & compare(before, made.view).differences.keys() if before is not None and both else frozenset()
    if otherwise or (guessed is not None and any(_waited(made, group) for group in waiting - known)):
        return planned(replace(of_waiting, but=known - otherwise))
    return made if guessed is None else _with_nothing_said(made, known)


def _hydrated(looked: Looked, asked: Verdicts) -> Hydration:
    return hydrate(looked.inputs, memo=looked.memo, ledgers=looked.ledgers, with_candidates=asked)


def _waited(hydration: Hydration, group_id: str) -> bool:
    """Whether a group of the source waited when its record was written."""
    group = hydration.snapshot.groups.get(group_id)
    record = hydration.snapshot.predecessor(group) if group is not None else None
    return record is not None and record.waiting_since is not None


def _with_nothing_said(hydration: Hydration, groups: Collection[str]) -> Hydration:
    """The same, with nothing said of clusters about those of some groups that wait."""
    view = hydration.view
    decisions = (replace(d, candidates=()) if d.group in groups and waits(d) else d for d in view.plan.decisions)
    return replace(hydration, view=replace(view, plan=Plan(tuple(decisions))))


class Rehearsal(Struct, frozen=True):
    """What a change of the source would do: a pass before it, the change, and a pass with it. None where nothing is to change."""

    source: Tree
    before: Hydration
    changes: Changes
    after: Hydration | None


def rehearse(
    looked: Looked,
    change: Callable[[Hydration], Changes],
    *,
    about: Collection[str] = (),
    once_read: Callable[[Snapshot], object] | None = None,
) -> Rehearsal:
    """
    Plan, let somebody change the source by what that shows, and plan again, with every cluster's verdict on the groups that it is `about`.
    Nothing is published or written. `once_read` is as for `hydrate`.
    """
    inputs, tree = looked.inputs, looked.source.tree
    before = hydrate(inputs, memo=looked.memo, ledgers=looked.ledgers, with_candidates=OUTGROWN, once_read=once_read)
    changes = change(before)
    then = replace(inputs, source=tree.apply(changes))
    asked = Verdicts(groups=frozenset(about), outgrown=True)
    after = hydrate(then, memo=looked.memo, ledgers=looked.ledgers, with_candidates=asked) if changes else None
    touched = tree.read_all(path for path in changes.written if path in tree)
    return Rehearsal(Tree.of(touched), before, changes, after)
