"""
Every commit that a test publishes is proved, as `gitplacer verify` proves it, before the test goes on.

Whoever pushes through `reconcile` in this process is watched: the commits that landed are computed again from what they say,
and the trees and messages must agree. It is done at once, because servers and sources may be gone when a test ends.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping

import pytest

from gitplacer import __version__
from gitplacer.audit.checking import Checking
from gitplacer.audit.recompute import Recomputation
from gitplacer.audit.repos import Past, Place
from gitplacer.formats.verification import sentence
from gitplacer.git.newcommits import NewCommit
from gitplacer.git.objects import Object
from gitplacer.git.publishing import Deployment
from gitplacer.git.reading import Repository, parse_commit
from gitplacer.hydrate import Hydration, Inputs, hydrate
from gitplacer.model.audit import Answer
from gitplacer.model.verdicts import Verdicts
from gitplacer.passes import reconcile
from gitplacer.passes.opening import Opened, Work
from gitplacer.scenarios import telling
from gitplacer.settings import Settings
from gitplacer.source.files import Memo, ReadFile
from gitplacer.trailers import ProvenanceClaim, read_claim
from gitplacer.tree import Entry
from gitplacer.treeids import tree_id

COUNT = {"commits": 0, "passes": 0}
"""How many were proved, for whoever wants to know that it is not none."""


class Remembering(Memo):
    """A memo in memory, for as long as the process lives."""

    def __init__(self) -> None:
        self._files: dict[str, ReadFile] = {}
        self._texts: dict[str, bytes] = {}

    def recall(self, oids: Iterable[str]) -> Mapping[str, ReadFile]:
        return {oid: self._files[oid] for oid in oids if oid in self._files}

    def remember(self, files: Mapping[str, ReadFile]) -> None:
        self._files.update(files)

    def recall_text(self, digest: str) -> bytes | None:
        return self._texts.get(digest)

    def recall_texts(self, digests: Iterable[str]) -> Mapping[str, bytes]:
        return {digest: self._texts[digest] for digest in digests if digest in self._texts}

    def remember_text(self, digest: str, text: bytes) -> None:
        self._texts[digest] = text


MEMO = Remembering()


LISTED: dict[str, Mapping[str, Entry]] = {}
"""What trees hold, by their ids: a proof reads what the pass has read, and what the proof before."""
MOST_LISTED = 1000


ALL = os.environ.get("GITPLACER_PROVE") == "all"
"""Whether every pass of a story in memory is computed again, not one in sixteen."""


def again(
    inputs: Inputs, done: Hydration, memo: Memo | None = None, *, with_candidates: Verdicts | bool = False
) -> None:
    """
    Hold that a pass in memory comes out the same from what its commits say: trees are looked up by the ids in the trailers, and
    everything else is read from them. Which passes are looked at depends on nothing but what they say.
    """
    if inputs.commit is None:
        return  # what is supposed is never published
    said = "".join(step.message for step in done.steps)
    if not done.steps or (not ALL and hashlib.sha256(said.encode()).digest()[0] % 16):
        return
    trees = {tree_id(inputs.capacity) if inputs.capacity_id else "": inputs.capacity}
    for number, step in enumerate(done.steps, 1):
        claim = read_claim(parse_commit(Object("0" * 40, "commit", b"\n\n" + step.message.encode())).trailers)
        assert isinstance(claim, ProvenanceClaim), (claim, step.message)
        assert (claim.step, claim.steps) == (number, len(done.steps))
        named = claim.inputs
        assert inputs.commit is not None and (named.source, named.base) == (
            inputs.commit.id,
            inputs.deployment_commit or "",
        )
        if number == 1:
            read = Inputs(
                source=inputs.source, commit=inputs.commit, capacity=trees[named.capacity],
                capacity_id=named.capacity or None, deployment=inputs.deployment,
                deployment_commit=named.base or None, foreign=named.foreign, reverted=named.reverted, merged=named.merged,
                now=named.now, version=named.version,
            )  # fmt: skip
            repeated = hydrate(read, memo=memo or MEMO, with_candidates=with_candidates)
    assert [(step.message, step.changes) for step in repeated.steps] == [(s.message, s.changes) for s in done.steps]
    COUNT["passes"] += 1


def watch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prove what is published from now on."""
    publish, listed = reconcile._publish, Repository._listed_whole

    def noted(repository: Repository, tree: str) -> Mapping[str, Entry]:
        if len(LISTED) >= MOST_LISTED:
            LISTED.clear()
        return LISTED.setdefault(tree, listed(repository, tree))

    def proving(work: Work, commits: list[NewCommit], settings: Settings, proposals: Mapping[str, NewCommit]) -> str:
        tip = publish(work, commits, settings, proposals)
        prove(work.deployment, work.source, settings, tip, len(commits), list(proposals))
        return tip

    def told(inputs: Inputs, *, memo: Memo | None = None, with_candidates: bool = True) -> Hydration:
        done = hydrate(inputs, memo=memo, with_candidates=with_candidates)
        again(inputs, done, with_candidates=with_candidates)
        return done

    monkeypatch.setattr(Repository, "_listed_whole", noted)
    monkeypatch.setattr(reconcile, "_publish", proving)
    monkeypatch.setattr(telling, "hydrate", told)


def _list_once(repository: Repository) -> None:
    """Let one repository list no tree of which it is known what it holds."""
    listed = repository._listed_whole
    repository._listed_whole = lambda tree: LISTED[tree] if tree in LISTED else listed(tree)  # type: ignore[method-assign]


def prove(before: Deployment, source: Opened, settings: Settings, tip: str, steps: int, proposals: list[str]) -> None:
    """Hold that the last commits of a branch, and the proposals on top of it, verify."""
    address = settings.source
    with (
        Deployment.open(before.address, before.branch, settings.cache_dir) as now,
        Repository.open(address, settings.cache_dir, fetch=settings.rev) as fleet,
    ):
        _list_once(now.repository)
        _list_once(fleet)
        past = Past(
            Place(address, fleet.git.git_dir), settings.folder, Place(now.address, now.repository.git.git_dir), now.branch,
            source.spec.deployment.root, tip, now.inputs_tip, source.spec,
        )  # fmt: skip
        commits = list(now.repository.first_parent_log(tip, steps))[::-1] if steps else []
        groups = [commits] if commits else []
        groups += [[now.repository.commit(now.proposals[name])] for name in proposals if name in now.proposals]
        checking = Checking(Recomputation(past, fleet, now.repository, settings.now), __version__)
        for group in groups:
            for checked in checking.check(group, MEMO):
                COUNT["commits"] += 1
                wrong = checked.discrepancy
                said = (sentence(wrong), *wrong.excerpt, wrong.hint) if wrong else ()
                assert checked.answer is Answer.VERIFIED, "\n".join((f"{checked.answer} {checked.subject}", *said))
