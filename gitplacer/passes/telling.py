"""
After the merge: what became of the plan that a pull request showed.

What a pass did with a commit of the source is read from the deployment repo alone: its commits name the source commit that they were
computed from, the files that they changed tell which groups were written, and the records tell where each group is since. If no commit
names it, the pass of a later one has carried it out as well. So this can be asked at any time, from anywhere, and again when what waited has found room.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from gitplacer.commits import PREFIX, PROPOSED
from gitplacer.formats.outcome import description, outcome_markdown, remembered_in, with_outcome
from gitplacer.git.address import Address
from gitplacer.git.objects import MissingObject
from gitplacer.git.program import CommandFailed
from gitplacer.git.publishing import Deployment
from gitplacer.git.reading import Commit, NoSuchRevision, Repository, parse_commit
from gitplacer.hosts.comments import ours, upsert
from gitplacer.hosts.host import LONGEST_DESCRIPTION, Host, Pull, State, Status
from gitplacer.hosts.pagefiles import read_plain
from gitplacer.kept import read_records
from gitplacer.kinds.record import PlacementRecord
from gitplacer.parsecache import ParseCache
from gitplacer.passes.opening import Progress, deployment_address, opened_deployment, opened_source
from gitplacer.plaintext import printable
from gitplacer.redactor import redact
from gitplacer.render import namespace_file
from gitplacer.review.outcomes import Fate, Outcome, Promise, became, promise_of
from gitplacer.settings import Settings, UsageError
from gitplacer.source.files import Memo
from gitplacer.source.manifests import PLATFORM
from gitplacer.units import unit_of

CONTEXT = "gitplacer/placement"
"""Under which name a commit's status says what became of it."""
_HISTORY = 3000
"""Commits of the deployment repo that are looked at."""
_LARGEST_PLAN = 200_000_000
_STATES: Mapping[Fate | None, State] = {
    None: State.PENDING,
    Fate.AS_PLANNED: State.SUCCESS,
    Fate.WAITS: State.PENDING,
    Fate.NOT_UPDATED: State.FAILURE,
    Fate.DIFFERS: State.FAILURE,
}


class Told(Struct, frozen=True):
    """What was told: of which commit, with which status, and where ('' for no comment)."""

    commit: str
    outcome: Outcome
    status: Status
    comment: str


class Landed(Struct, frozen=True):
    """A source commit, and the commits of the deployment repo that carried it out, oldest first, at an address."""

    source: str
    commits: tuple[Commit, ...]
    outcome: Callable[[Promise | None], Outcome]
    address: Address


def context(comment_id: str = "") -> str:
    """The name of the status; several fleets have one each."""
    return f"{CONTEXT}/{comment_id}" if comment_id else CONTEXT


def landed(settings: Settings, progress: Progress) -> Landed:
    """What passes did with a commit of the source. Raises GitError, UsageError or Rejected."""
    memo = ParseCache(settings.cache_dir)
    progress("reading the source")
    with opened_source(settings, memo, work_tree=False) as source:
        spec, commit = source.spec, source.commit
    assert commit is not None
    address = deployment_address(settings, spec, trusted=True)
    if address is None:
        raise UsageError("nobody said where the deployment repo is", "give --deployment, or set spec.deployment.url")
    progress(f"reading the deployment repo {address.redacted}")
    with opened_deployment(address, spec, settings) as deployment:
        commits = _carried_out(settings, commit.id, _passes(deployment))
        tree = deployment.repository.tree(commits[-1].id) if commits else None
        records = read_records(tree, memo, [])[0] if tree is not None else {}
        written = _written(deployment.repository, commits, spec.deployment.root, records, memo)
    inputs = _inputs(commits[0]) if commits else {}
    ids = [each.id for each in commits]
    return Landed(commit.id, tuple(commits), lambda promise: became(promise, records, inputs, ids, written), address)


def _passes(deployment: Deployment) -> list[Commit]:
    """The commits of passes that are on the deployment branch, newest first."""
    if deployment.tip is None:
        return []
    repository = deployment.repository
    listing = repository.git.run(
        "rev-list", "--topo-order", f"--max-count={_HISTORY}", "--end-of-options", deployment.tip, "--"
    ).decode()
    found = [parse_commit(each) for each in repository.objects.look_up_all(listing.split()) if each is not None]
    return [each for each in found if each.trailer(f"{PREFIX}Source") is not None and each.trailer(PROPOSED) is None]


def _carried_out(settings: Settings, commit: str, passes: Sequence[Commit]) -> list[Commit]:
    """The commits of the passes for a source commit, or else for the first one after it, oldest first."""
    exact = [each for each in passes if each.trailer(f"{PREFIX}Source") == commit]
    if not exact and passes:
        with Repository.open(settings.source, settings.cache_dir, fetch=settings.rev) as repository:
            known: dict[str, bool] = {}
            for each in reversed(passes):
                source = each.trailer(f"{PREFIX}Source") or ""
                if source not in known:
                    known[source] = _is_in(repository, commit, source)
                if known[source]:
                    exact = [other for other in passes if other.trailer(f"{PREFIX}Source") == source]
                    break
    return exact[::-1]


def _written(
    repository: Repository, commits: Sequence[Commit], root: str, records: Mapping[str, PlacementRecord], memo: Memo
) -> frozenset[str] | None:
    """
    The groups of which commits changed files, or that of their namespace; None where there was nothing before, or a clone does not have it.
    `records` are those after the commits.
    """
    if not commits or not all(each.parents for each in commits):
        return None
    try:
        before = read_records(repository.tree(commits[0].parents[0]), memo, [])[0]
        changed = {path for each in commits for path in repository.changes(each.parents[0], each.id)}
    except (MissingObject, NoSuchRevision):
        return None
    having = defaultdict[str, set[str]](set)
    for record in (*before.values(), *records.values()):
        having[f"{PLATFORM}/{namespace_file(record.metadata.namespace)}"].add(record.id)
        for member in record.members:
            having[f"{unit_of(record)}/{member.file}"].add(record.id)
    within = [path.removeprefix(f"{root}/") for path in changed if path.startswith(f"{root}/")]
    return frozenset(group for path in within for group in having.get(path.partition("/")[2], ()))


def _is_in(repository: Repository, commit: str, later: str) -> bool:
    """Whether a commit is in the history of another."""
    try:
        there = repository.resolve(later)
        return not repository.git.run(
            "rev-list", "--max-count=1", "--end-of-options", commit, f"^{there}", "--"
        ).strip()
    except (NoSuchRevision, CommandFailed):
        return False


def _inputs(commit: Commit) -> dict[str, str]:
    """What a pass says that it was computed from."""
    named = {"source": "Source", "capacity": "Capacity", "deployment": "Base", "version": "Version"}
    return {name: commit.trailer(f"{PREFIX}{key}") or "" for name, key in named.items()}


def tell(
    host: Host, found: Landed, pull: Pull | None, *, promise: Promise | None, comment_id: str, link_host: str
) -> Told:
    """Edit the comment on the pull that brought a commit, and set the commit's status. Raises HostError or UsageError."""
    comments = ours(host, pull.number, comment_id) if pull is not None else []
    if promise is None:
        promise = next((kept for each in comments if (kept := remembered_in(each.body)) is not None), None)
    outcome = found.outcome(promise)
    url = ""
    if pull is not None and (outcome.commits or comments):
        told = outcome_markdown(outcome, commit_links(link_host, found.address))
        pages = with_outcome([_without_marker(each.body) for each in comments], told, host.longest_body)
        url = upsert(host, pull.number, pages, comment_id).url
    status = Status(
        context=context(comment_id),
        state=_STATES[outcome.fate],
        description=redact(description(outcome, LONGEST_DESCRIPTION)),
        url=url,
    )
    if host.status(found.source, status.context) != status:
        host.set_status(found.source, status)
    return Told(found.source, outcome, status, url)


def _without_marker(body: str) -> str:
    return body.replace("\r\n", "\n").partition("\n")[2]


def commit_links(host: str, address: Address) -> Callable[[str], str]:
    """The address at which people read a commit of a repository, or '' where there is none."""
    if address.is_local or not re.fullmatch(r"[a-z0-9.-]+/[\w./~-]+", address.normalised):
        return lambda oid: ""
    between = "/-/commit/" if host == "gitlab" else "/commit/"
    return lambda oid: f"https://{address.normalised}{between}{oid}"


def read_plan(path: Path) -> Mapping[str, Any]:
    """A plan as `plan --format json` prints it, or as it was saved. Raises UsageError."""
    name = printable(str(path))
    hint = "give what `gitplacer plan --format json` prints"
    try:
        value = json.loads(read_plain(path, _LARGEST_PLAN))
        plan = value.get("plan", value) if isinstance(value, dict) else None
        promise_of(plan if isinstance(plan, dict) else {})
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name} is no plan: {printable(str(error))}", hint) from None
    assert isinstance(plan, dict)
    return plan
