"""
Capacity snapshots from branches of their own: what their writers sent, as far as it is believed.

Clusters push their snapshots to one branch or to one each. What is read is the tip, and of the history before it only as much as
it takes to believe the tip: whether a key that may speak for the cluster has signed the commit that changed its file, and whether
the cluster has jumped (`gitplacer.belief`). What comes out is a capacity tree in which the snapshots that were believed before stand
under `earlier/`, and why something is left out under `doubted/`. What was found out of a commit or a file is remembered by its id.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.belief import DOUBTED, EARLIER, Gist, doubt, last_believed
from gitplacer.git.address import Address
from gitplacer.git.believing import signed_by
from gitplacer.git.mirror import BrokenRef, Mirror, NotBrought, refs_of
from gitplacer.git.objects import BlobTooLarge
from gitplacer.git.program import GitError
from gitplacer.git.reading import Repository, moment
from gitplacer.git.signing import is_signed
from gitplacer.kinds.fleet import CapacitySettings
from gitplacer.problems import Rejected
from gitplacer.source.files import MAX_SNAPSHOT, READ_ENDINGS, Aside, Memo
from gitplacer.tree import Changes, Entry, Tree

PLACEHOLDER = "{cluster}"
"""Stands for the name of a cluster in `spec.capacity.branch`."""

_HEADS = ("refs/remotes/origin/", "refs/heads/")
"""Where branches are; what a clone tracks counts where it has no local branch of that name."""
_EPOCH = datetime.fromtimestamp(0, UTC)
_READ_OF_ONE = 2 * MAX_SNAPSHOT
"""Bytes of the versions of one file that are read: twenty minutes of a cluster whose snapshot is 3 MB and changes with every minute."""
_LOOKED_BACK = 2000
"""Commits of a branch that are looked at: an hour of thirty clusters that change with every minute."""


class Branch(Struct, frozen=True):
    """
    A branch of snapshots by its name, its tip, and the one cluster it is of, None where it is of all. `fault` is why nothing of it can be
    read; one that is damaged has no tip, which is ''.
    """

    name: str
    tip: str
    cluster: str | None = None
    fault: GitError | None = None


def branch_of(pattern: str, cluster: str) -> str:
    """The branch of a cluster; a name without `{cluster}` is that of every cluster."""
    return pattern.replace(PLACEHOLDER, cluster)


def branches_at(address: Address, pattern: str) -> list[Branch]:
    """The branches that there are for clusters now, by `spec.capacity.branch`, by cluster. Raises GitError (Unreachable)."""
    if address.is_local and not address.git_dir:
        return []
    fixed = pattern.removesuffix(PLACEHOLDER)
    folder, found = fixed[: fixed.rfind("/") + 1], {}
    for heads in _HEADS if address.is_local else _HEADS[-1:]:
        broken = set[str]()
        tips = refs_of(address, below=heads + folder, broken=broken)
        for name in (*tips, *sorted(broken)):
            branch = name.removeprefix(heads)
            cluster = branch.removeprefix(fixed)
            if branch.startswith(fixed) and cluster and "/" not in cluster:
                fault = BrokenRef(address, name) if name in broken else None
                found[cluster] = Branch(branch, tips.get(name, ""), cluster, fault)
    return [found[cluster] for cluster in sorted(found)]


def mark_of(branches: Sequence[Branch]) -> str:
    """A text that is another when one of the branches has moved, come or gone."""
    return _digest("branches", *(f"{branch.name} {branch.tip}" for branch in branches))


def opened_branches(address: Address, branches: Sequence[Branch], cache_dir: Path) -> tuple[Repository, list[Branch]]:
    """
    The repository of some branches, to be closed, and these as they are in it: a remote's may have moved on since they were listed, and one
    that cannot be fetched is no fault of the others. Raises GitError (NotARepository, Unreachable, NoSuchRevision, …).
    """
    if address.is_local:
        return Repository.open(address, cache_dir), list(branches)
    named = {f"{_HEADS[-1]}{branch.name}": branch for branch in branches}
    mirror = Mirror(address, cache_dir)
    faults = _not_fetched(mirror, {name: branch.tip for name, branch in named.items()})
    fetched = {name: branch.tip for name, branch in named.items() if name not in faults}
    repository = Repository.mirrored(address, mirror, fetched)
    return repository, [
        replace(branch, tip=repository.refs.get(name, branch.tip), fault=faults.get(name))
        for name, branch in named.items()
    ]


def _not_fetched(mirror: Mirror, refs: Mapping[str, str]) -> dict[str, GitError]:
    """
    The refs that a mirror cannot have for what is in them, each with why; the others are there then. Halves are tried until it is known which they
    are: git fetches all or nothing.
    """
    try:
        mirror.fetch(refs)
    except GitError as error:
        if not _is_of_a_branch(error):
            raise
        if len(refs) == 1:
            return dict.fromkeys(refs, error)
        names = sorted(refs)
        halves = names[: len(names) // 2], names[len(names) // 2 :]
        return {name: e for half in halves for name, e in _not_fetched(mirror, {n: refs[n] for n in half}).items()}
    return {}


def _is_of_a_branch(error: GitError) -> bool:
    """Whether an error may be because of what is in one branch, and not because of the repository, the way to it, or us."""
    return isinstance(error, NotBrought) or error.kind in _OF_A_BRANCH


_OF_A_BRANCH = ("MalformedTree", "MalformedObject", "TooMuch", "DamagedRepository", "NoSuchFolder", "GitFailed")


def read_branches(
    repository: Repository, branches: Iterable[Branch], settings: CapacitySettings, memo: Memo, now: datetime
) -> Tree:
    """
    The capacity tree that some branches make together. Its bytes can be read until the repository is closed. Raises GitError,
    never for what is in a branch.
    """
    entries: dict[str, Entry] = {}
    doubts: dict[str, bytes] = {}
    for branch in branches:
        try:
            if branch.fault is not None:
                raise branch.fault
            read = _Read(repository, branch, settings, memo, now)
        except GitError as error:
            if branch.cluster is None or not _is_of_a_branch(error):
                raise
            # What one cluster pushes is nothing to the others.
            at = f", commit {branch.tip[:12]}" if branch.tip else ""
            message = f"branch {branch.name}{at}: {error.message}"
            doubts[f"{DOUBTED}/{branch.cluster}.txt"] = doubt("SnapshotName", message, error.hint)
            continue
        entries |= read.entries
        doubts |= {f"{DOUBTED}/{cluster}.txt": said for cluster, said in read.doubts.items()}
    return Tree(dict(sorted(entries.items())), repository.objects).apply(Changes(doubts))


class _Version(Struct, frozen=True):
    """A file as one commit made it: `entry` is None where the commit removed it."""

    commit: str
    at: datetime
    entry: Entry | None


class _Read:
    """What one branch adds to the capacity tree: `entries` by path, and `doubts` by cluster."""

    def __init__(
        self, repository: Repository, branch: Branch, settings: CapacitySettings, memo: Memo, now: datetime
    ) -> None:
        self._repository, self._branch, self._settings, self._memo, self._now = repository, branch, settings, memo, now
        whole = repository.tree(branch.tip, repository.address.folder)
        below = whole.under(settings.path)
        tree, self._folder = (below, settings.path) if len(below) else (whole, "")
        self.entries = {path: e for path, e in tree.entries.items() if self._is_of_the_branch(path)}
        self.doubts: dict[str, bytes] = {}
        histories = self._histories()
        for path in sorted(path for path in {*self.entries, *histories} if path.endswith(READ_ENDINGS)):
            if self._is_of_the_branch(path):
                self._decide(path, histories.get(path, []))
        if branch.cluster is not None and not self.entries and not self.doubts:
            others = ", ".join(sorted(tree.entries)[:3]) or "nothing"
            message = f"branch {branch.name} holds {others}, and no snapshot of {branch.cluster}"
            hint = f"it is read from {branch.cluster}.yaml, in {settings.path}/ or at the top"
            self.doubts[branch.cluster] = doubt("SnapshotName", message, hint)

    def _is_of_the_branch(self, path: str) -> bool:
        """A branch of one cluster speaks of no other; what is believed, and why not, is ours to say."""
        if path.startswith((f"{EARLIER}/", f"{DOUBTED}/")):
            return False
        return self._branch.cluster in (None, PurePosixPath(path).stem) and (
            self._branch.cluster is None or "/" not in path
        )

    def _decide(self, path: str, history: Sequence[_Version]) -> None:
        """Which versions of a file go into the tree; `history` is newest first, and empty where it is older than was looked back."""
        cluster = PurePosixPath(path).stem
        if not history and self._settings.writers is None:
            return
        believable = list(self._signed(cluster, self._recent(history))) if history else []
        at_tip = self.entries.pop(path, None)
        if not believable or believable[0] is not history[0]:
            self.doubts[cluster] = self._unsigned(cluster, history[0].commit if history else self._branch.tip)
        if not believable or believable[0].entry is None:
            return
        sent = self._newest([version.entry for version in reversed(believable) if version.entry is not None])
        self.entries[path] = self._sized(sent[-1], at_tip)
        gists = self._gists(path, sent)
        last = last_believed(gists, self._settings.jumps, self._now)
        if last is not None and sent[last] != sent[-1]:
            self.entries[f"{EARLIER}/{PurePosixPath(path).name}"] = self._sized(sent[last], at_tip)

    def _sized(self, entry: Entry, at_tip: Entry | None) -> Entry:
        """An entry with the size of its blob, so that what is too large is never read. History does not tell it."""
        if at_tip is not None and (at_tip.mode, at_tip.oid) == (entry.mode, entry.oid):
            return at_tip
        return entry._replace(size=int(self._repository.git.run("cat-file", "-s", "--end-of-options", entry.oid)))

    def _newest(self, sent: Sequence[Entry]) -> Sequence[Entry]:
        """As many of the newest as may be read: a branch may have two thousand, each as large as a snapshot can be."""
        if len(sent) <= _READ_OF_ONE // MAX_SNAPSHOT:
            return sent
        oids = [entry.oid for entry in sent]
        asked = "".join(f"{oid}\n" for oid in oids).encode()
        told = self._repository.git.run("cat-file", "--batch-check=%(objectsize)", input=asked).splitlines()
        left, seen = _READ_OF_ONE, set[str]()
        for number, (oid, size) in enumerate(zip(reversed(oids), reversed(told), strict=True)):
            left -= int(size) if oid not in seen and size.isdigit() else 0
            seen.add(oid)
            if left < 0 and number:
                return sent[-number:]
        return sent

    def _recent(self, history: Sequence[_Version]) -> list[_Version]:
        """The versions that can be of interest: twice the time that a jump takes to be believed, and the one before."""
        since = history[0].at - timedelta(seconds=2 * self._settings.jumps.believed_after)
        end = next((n for n, version in enumerate(history) if version.at < since), len(history))
        return list(history[: end + 1])

    def _histories(self) -> Mapping[str, list[_Version]]:
        """For each path below the folder the versions that the branch has had of it, newest first."""
        folder = "/".join(part for part in (self._repository.address.folder, self._folder) if part)
        # What else a cluster puts on its own branch may be much, and says nothing.
        names = [""] if self._branch.cluster is None else [f"{self._branch.cluster}{ending}" for ending in READ_ENDINGS]
        wanted = [f":(top,literal){'/'.join(filter(None, (folder, name)))}" for name in names]
        listing = self._repository.git.run(
            "log", f"--max-count={_LOOKED_BACK}", "--first-parent", "--diff-merges=first-parent", "--no-renames", "--no-color", "--no-ext-diff", "--root", "--raw",
            "--no-abbrev", "-z", "--format=%x00%H %ct", "--end-of-options", self._branch.tip, "--", *wanted,
        )  # fmt: skip
        found: dict[str, list[_Version]] = defaultdict(list)
        commit, at = "", _EPOCH
        parts = iter(listing.split(b"\0"))
        for part in parts:
            text = part.strip(b"\n").decode("utf-8", "backslashreplace")
            if text.startswith(":"):
                _, mode, _, oid, status = text.split(" ")
                path = next(parts).decode("utf-8", "backslashreplace")
                entry = None if status == "D" else Entry(mode, oid)
                found[path[len(folder) :].lstrip("/")].append(_Version(commit, at, entry))
            elif text:
                commit, _, seconds = text.partition(" ")
                # Whoever makes a commit may write any number: of one that is too old, more of what was before it is looked at.
                at = max(_EPOCH, moment(seconds))
        return found

    def _keys(self, cluster: str) -> Sequence[str]:
        writers = self._settings.writers or {}
        return writers.get(cluster, writers.get("*", ()))

    def _signed(self, cluster: str, versions: Sequence[_Version]) -> Iterator[_Version]:
        """Those whose commits are signed by a key that may speak for a cluster; all of them where nobody says who may."""
        if self._settings.writers is None:
            yield from versions
            return
        commits = [version.commit for version in versions]
        signed = signed_by(self._repository.objects, self._memo, self._keys(cluster), commits)
        yield from (version for version, is_good in zip(versions, signed, strict=True) if is_good)

    def _unsigned(self, cluster: str, oid: str) -> bytes:
        commit = self._repository.objects.look_up(oid)
        by = (
            "by no key that may speak for" if commit is not None and is_signed(commit.data) else "by nobody, so not for"
        )
        message = f"commit {oid[:12]} of branch {self._branch.name} is signed {by} {cluster}"
        hint = "sign with a key that the Fleet lists under spec.capacity.writers, or find out who pushes there"
        if not self._keys(cluster):
            hint = f"the Fleet lists no key for {cluster} under spec.capacity.writers"
        return doubt("SnapshotNotSigned", message, hint)

    def _gists(self, path: str, sent: Sequence[Entry]) -> list[Gist | None]:
        """What is held against one another, None for what cannot be read."""
        digests = [_digest("gist", path, entry.mode, entry.oid) for entry in sent]
        known = dict(self._memo.recall_texts(digests))
        for entry, digest in zip(sent, digests, strict=True):
            if digest not in known:
                # The newest is parsed once more in a moment; those before it never again.
                gist = self._gist(path, entry, self._memo if entry is sent[-1] else Aside(self._memo))
                known[digest] = gist.as_text() if gist is not None else b""
                self._memo.remember_text(digest, known[digest])
        return [Gist.from_text(known[digest]) if known[digest] else None for digest in digests]

    def _gist(self, path: str, entry: Entry, memo: Memo) -> Gist | None:
        from gitplacer.reported import single_snapshot  # which takes a while; who knows the gists does without

        try:
            found, _ = single_snapshot(Tree({path: entry}, self._repository.objects), path, memo)
        except (BlobTooLarge, Rejected):
            return None
        return Gist.of(found) if found.name == PurePosixPath(path).stem else None


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(("capacity-1", *parts)).encode("utf-8", "surrogateescape")).hexdigest()
