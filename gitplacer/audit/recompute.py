"""
A pass computed once more, from what its commits say it was made from.

A claim names every input. Each is fetched by its id, so what is fetched is what was named. What others did in the deployment repo
before the pass is read from the history again, because whoever forges a commit could forge that too. The one input that no trailer
names is the address of the source, which stands in `hydrator.metadata`: it is taken as found there, and changes nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from msgspec import Struct

from gitplacer.audit.repos import Past, unshallow
from gitplacer.branch.byhand import ByHand, OurPaths, by_hand
from gitplacer.explain import rfc3339
from gitplacer.git.objects import MissingObject
from gitplacer.git.ourbranches import INPUTS
from gitplacer.git.program import GitError
from gitplacer.git.publishing import Deployment
from gitplacer.git.reading import Commit, NoSuchRevision, Repository
from gitplacer.hydrate import Hydration, Inputs, hydrate
from gitplacer.model.audit import Discrepancy, Mismatch
from gitplacer.model.byhand import MergedMove
from gitplacer.passes.opening import source_commit
from gitplacer.plaintext import pasted
from gitplacer.problems import Rejected
from gitplacer.source.files import Memo
from gitplacer.source.fleetspec import fleet_spec
from gitplacer.trailers import ProvenanceClaim, instant
from gitplacer.tree import Tree
from gitplacer.treeids import StepIds
from gitplacer.units import METADATA

AHEAD = timedelta(minutes=5)
"""How far the clock of whoever made a commit may be ahead of ours."""
_ROOTED = "if the fleet is in a directory of its repo, give the same --path DIR as to `gitplacer reconcile`"


class Recomputed(Struct, frozen=True, dict=True):
    """A pass as it should have been: the tree it began with, and what it comes to."""

    base: Tree
    hydration: Hydration

    @cached_property
    def ids(self) -> StepIds:
        """The ids of the trees of its commits."""
        return StepIds(self.base, (step.changes for step in self.hydration.steps))


class Recomputation:
    """Both repos, opened; `present` is now. Raises GitError for what is wrong with the repos and not with a commit."""

    def __init__(self, past: Past, source: Repository, deployment: Repository, present: datetime) -> None:
        self.past = past
        self.source = source
        self.deployment = deployment
        self._present = present

    def of(self, claim: ProvenanceClaim, commit: Commit, memo: Memo) -> Recomputed | Discrepancy:
        """The pass that a claim of a commit is about, or why there is none."""
        inputs = claim.inputs
        if inputs.now > self._present + AHEAD:
            return Discrepancy(mismatch=Mismatch.FUTURE, where="Gitplacer-Now", found=rfc3339(inputs.now))
        try:
            return self._made(claim, commit, memo)
        except MissingObject as error:
            return Discrepancy(mismatch=Mismatch.OBJECT_GONE, where=error.message, hint=error.hint)

    def _made(self, claim: ProvenanceClaim, commit: Commit, memo: Memo) -> Recomputed | Discrepancy:
        named = claim.inputs
        source = self._source(named.source)
        if isinstance(source, Discrepancy):
            return source
        capacity = self._capacity(named.capacity)
        if isinstance(capacity, Discrepancy):
            return capacity
        base = self._base(named.base)
        if isinstance(base, Discrepancy):
            return base
        author, tree = source
        told = self._told(claim, fleet_spec(tree, memo).deployment.root)
        if told is not None:
            return told
        inputs = Inputs(
            source=tree,
            commit=source_commit(author, self._repo_url(commit)),
            capacity=capacity,
            capacity_id=named.capacity or None,
            deployment=base,
            deployment_commit=named.base or None,
            foreign=named.foreign,
            reverted=named.reverted,
            merged=named.merged,
            now=named.now,
            version=named.version,
        )
        try:
            return Recomputed(base, hydrate(inputs, memo=memo, with_candidates=False))
        except Rejected as refused:
            first = refused.errors[0]
            said = f"{first.location}: {first.message}"
            hint = "" if self.past.folder else _ROOTED
            return Discrepancy(mismatch=Mismatch.REFUSED, where=named.source, found=said, hint=hint)

    def _source(self, oid: str) -> tuple[Commit, Tree] | Discrepancy:
        try:
            found = self.source.commit(oid)
        except NoSuchRevision:
            return self._gone(self.source, Mismatch.SOURCE_GONE, oid, oid)
        try:
            return found, self.source.tree(found.id, self.past.folder)
        except MissingObject:
            raise
        except GitError as error:
            hint = "give --path DIR as for `gitplacer reconcile`"
            return Discrepancy(mismatch=Mismatch.SOURCE_GONE, where=oid, found=error.message, hint=hint)

    def _capacity(self, oid: str) -> Tree | Discrepancy:
        """By its id it is the same tree wherever it lies: in the branch that keeps it, or beside the source."""
        if not oid:
            return Tree()
        found = self.deployment.tree_of(oid) or self.source.tree_of(oid)
        return found or self._gone(self.deployment, Mismatch.CAPACITY_GONE, oid, INPUTS)

    def _base(self, oid: str) -> Tree | Discrepancy:
        if not oid:
            return Tree()
        try:
            return self.deployment.tree(self.deployment.resolve(oid))
        except NoSuchRevision:
            return self.base_gone(oid)

    def path_hint(self, made: Recomputed) -> str:
        """Whether another pass may have come out because it was not said in which directory of the source the fleet is."""
        places = made.hydration.snapshot.source.own.places.values()
        folders = {place.file.partition("/")[0] if "/" in place.file else "" for place in places}
        return _ROOTED if not self.past.folder and len(folders) == 1 and "" not in folders else ""

    def base_gone(self, oid: str) -> Discrepancy:
        """A deployment commit that is not to be had."""
        return self._gone(self.deployment, Mismatch.BASE_GONE, oid, oid)

    @staticmethod
    def _gone(repository: Repository, what: Mismatch, oid: str, wanted: str) -> Discrepancy:
        where = repository.address.redacted
        if repository.is_shallow:
            hint = f"{where} is a shallow clone: {unshallow(where)}"
            hint += f" {INPUTS}:{INPUTS}" if what is Mismatch.CAPACITY_GONE else ""
        elif repository.address.is_local:
            refs = f"{wanted}:{wanted}" if what is Mismatch.CAPACITY_GONE else wanted
            asked = "is this the repo that it was computed from? " if what is Mismatch.SOURCE_GONE else ""
            hint = f"{asked}bring it from where it is: git -C {pasted(where)} fetch REMOTE {refs}"
        else:
            hint = f"no branch or tag of {where} leads to it; push one that does"
        return Discrepancy(mismatch=what, where=oid, found=where, hint=hint)

    def _repo_url(self, commit: Commit) -> str | None:
        found = self.deployment.objects.look_up(f"{commit.id}:{METADATA}")
        try:
            fields: Any = json.loads(found.data) if found is not None else None
        except (ValueError, RecursionError):
            return None
        url = fields.get("repoURL") if isinstance(fields, dict) else None
        return url if isinstance(url, str) else None

    # what others did before

    def _told(self, claim: ProvenanceClaim, root: str) -> Discrepancy | None:
        """In what the history before the pass is not as the claim tells it. `root` is what the Fleet said then."""
        named = claim.inputs
        if not named.base:
            said = [*named.foreign, *named.reverted, *named.merged]
            return _untold(said[0], "nothing was deployed yet") if said else None
        before = Deployment(self.deployment, self.past.branch, named.base, None)
        found = by_hand(before, root)
        return (
            _first_of_foreign(named.foreign, found, named.merged, OurPaths(root))
            or _first_of_moves(named.reverted, found.reverted, named.merged)
            or self._first_of_merges(named.merged, found, before)
        )

    def _first_of_merges(
        self, named: Mapping[str, MergedMove], found: ByHand, before: Deployment
    ) -> Discrepancy | None:
        """
        A proposal is deleted when it was merged, so a squashed one cannot be found again. What can be is the commit that brought it.
        """
        for group, move in sorted(named.items()):
            if found.merged.get(group) == move:
                continue
            try:
                brought = self.deployment.commit(move.commit)
            except NoSuchRevision:
                return _untold(group, f"there is no commit {move.commit[:12]}")
            if instant(brought.date) != move.at or not self._is_before(brought.id, before.tip or ""):
                return _untold(group, f"commit {move.commit[:12]} did not let it in then")
        missing = sorted(found.merged.keys() - named.keys())
        return _untold(missing[0], "the history has a merge of its proposal") if missing else None

    def _is_before(self, commit: str, tip: str) -> bool:
        listing = self.deployment.git.run(
            "rev-list", "--first-parent", "--max-count=1", "--end-of-options", commit, f"^{tip}", "--", check=False
        )
        return not listing.strip()


def _first_of_foreign(
    named: Mapping[str, str], found: ByHand, merged: Mapping[str, MergedMove], paths: OurPaths
) -> Discrepancy | None:
    """A proposal that was squashed cannot be found again, but only paths that it could have touched are explained by it."""
    for path, oid in sorted(named.items()):
        if found.foreign.get(path) != oid:
            return _untold(path, "nobody else has changed it")
    for path in sorted(found.foreign.keys() - named.keys()):
        if not any(paths.belongs(path, group) for group in merged):
            return _untold(path, "somebody else has changed it, and that is not said")
    return None


def _first_of_moves(
    named: Mapping[str, Any], found: Mapping[str, Any], merged: Mapping[str, Any]
) -> Discrepancy | None:
    for group in sorted(named.keys() | found.keys()):
        if named.get(group) != found.get(group) and group not in merged:
            what = "the history has another revert" if group in found else "the history has no such revert"
            return _untold(group, what)
    return None


def _untold(where: str, found: str) -> Discrepancy:
    return Discrepancy(mismatch=Mismatch.BY_HAND, where=where, found=found)
