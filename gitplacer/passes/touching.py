"""
Passes that write manifests again of which only the text was edited, without planning the fleet.

A pass that had nothing to do is remembered (`quiet`); with it is kept which files of the deployment repo are made of which manifest
(`rewriting`). The next pass compares: if all that it depends on is the same but for the commit of the source, and that brought nothing but
other text in such manifests, the plan is the one that is remembered, and all there is to do is to write their files again. What it has
published is remembered as well: a fleet at rest whose manifests say the same is at rest.

What says something else is for a pass that plans (`partly`); `reconcile --full` is a whole one always. The cache may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.commits import updates_message, who_waits, whole_message
from gitplacer.madefrom import hydrator_metadata, people_of, trailers_of
from gitplacer.passes.basekeys import base_at, base_key, keep_base, place_of
from gitplacer.passes.opening import Work
from gitplacer.passes.quiet import Quiet, digest_of, quiet, told_of
from gitplacer.source.edited import Change, read_both
from gitplacer.source.files import Memo, is_read
from gitplacer.tree import Changes, Tree
from gitplacer.units import METADATA

if TYPE_CHECKING:
    from gitplacer.hydrate import Hydration
    from gitplacer.model.horizon import Horizon
    from gitplacer.rewriting import Edited


class _Files(Struct, frozen=True):
    """
    What is known of the files of a source: each that may be written again, by path, what is not read, as far as words in it count, and which
    groups wait, with what a commit says of them. A Rewritable is as it was pickled, because few of very many are looked at.
    """

    rewritable: Mapping[str, bytes]
    unread: frozenset[str]
    waiting: Mapping[str, str]


class AtRest(Struct, frozen=True):
    """
    A fleet at rest: what a pass says that finds it so, the commit of the source that it was computed from, and the digest of its files, of which those
    are known no longer that were `edited` since.
    """

    quiet: Quiet
    source: str
    files: str
    edited: frozenset[str] = frozenset()


class Touch(Struct, frozen=True):
    """
    What a pass comes to that plans no whole fleet: the changes of one commit, and what that says; or none, where no deployed file is another.
    `quiet` is what it says beside, and `source` the commit that it was computed from. What it comes to is remembered by `landed`, which is told the tip of the
    deployment branch behind it.
    """

    changes: Changes
    message: str
    quiet: Quiet
    source: str
    landed: Callable[[str], None]


def can_be_at_rest(work: Work) -> bool:
    """Whether a pass that has nothing to do is remembered: not where somebody has a hand in the deployment repo, or where it is not told by ids."""
    inputs = work.inputs
    others = inputs.foreign or inputs.reverted or inputs.merged or inputs.uncounted or work.deployment.proposals
    return inputs.commit is not None and inputs.trusted is None and not others


def rest_key(work: Work, folder: str) -> str | None:
    """The digest of all that a pass depends on but its time, and the source; None where nothing is remembered, or published yet."""
    if not can_be_at_rest(work) or work.inputs.deployment_commit is None:
        return None
    return digest_of("rest", folder, told_of(replace(work.inputs, commit=None)))


def _files_key(work: Work, folder: str) -> str:
    """Where the files of a fleet are kept. They are of the last pass alone, so that they do not grow with every one."""
    return digest_of("files", work.deployment.address.normalised, work.deployment.branch, folder)


def remember_rest(memo: Memo, work: Work, folder: str, hydration: Hydration, horizon: Horizon) -> None:
    """Keep, of a pass that had nothing to do, what later ones need that write manifests again."""
    from gitplacer.atrest import rewritables  # which takes a while; who has planned has it already

    key, commit = rest_key(work, folder), work.inputs.commit
    if key is None or commit is None:
        return
    files = {path: pickle.dumps(each, protocol=5) for path, each in rewritables(work.inputs, hydration).items()}
    known = _Files(files, hydration.snapshot.source.broken_files, who_waits(hydration.view))
    found = quiet(hydration, horizon)  # what was said just now was said at a time as well
    if found is not None:
        kept = pickle.dumps(known, protocol=5)
        digest = hashlib.sha256(kept).hexdigest()
        memo.remember_text(_files_key(work, folder), digest.encode() + kept)
        _keep(memo, key, AtRest(found, commit.id, digest))


def rest_of(memo: Memo, work: Work, folder: str) -> AtRest | None:
    """The rest in which the fleet is but for what the source has changed since; None where that is not known."""
    key, repository = rest_key(work, folder), work.source.repository
    kept = memo.recall_text(key) if key is not None else None
    rest = pickle.loads(kept) if kept is not None else None
    if not isinstance(rest, AtRest) or repository is None or not rest.quiet.holds(work.inputs.now):
        return None
    if repository.objects.look_up(f"{rest.source}^{{commit}}") is None:
        return None  # its history was cut off, or written anew
    return rest


def keep_rest(memo: Memo, work: Work, folder: str, tip: str, rest: AtRest) -> None:
    """Know the fleet to be at rest on a tip of the deployment branch."""
    key = rest_key(replace(work, inputs=replace(work.inputs, deployment_commit=tip)), folder)
    if key is not None:
        _keep(memo, key, rest)


def _keep(memo: Memo, key: str, rest: AtRest) -> None:
    memo.remember_text(key, pickle.dumps(rest, protocol=5))


def changed_since(rest: AtRest, work: Work, folder: str) -> Change:
    """What the source has changed."""
    commit, repository = work.inputs.commit, work.source.repository
    assert commit is not None and repository is not None
    old, new = (repository.tree_id(each, folder) for each in (rest.source, commit.id))
    return Change(repository.changes(old, new), repository.objects)


def touched(memo: Memo, work: Work, folder: str, rest: AtRest) -> Touch | None:
    """What a pass comes to, where all it has to do is to write manifests again; None where that is not known."""
    files = _files_of(memo, work, folder, rest)
    edited = _edited(memo, work, changed_since(rest, work, folder), files, rest) if files is not None else None
    if files is None or edited is None:
        return None
    return _touch(memo, work, folder, rest, edited, files.waiting)


def _files_of(memo: Memo, work: Work, folder: str, rest: AtRest) -> _Files | None:
    kept = memo.recall_text(_files_key(work, folder))
    if kept is None or not kept.startswith(rest.files.encode()):
        return None
    found = pickle.loads(kept[len(rest.files) :])
    return found if isinstance(found, _Files) else None


def _edited(memo: Memo, work: Work, change: Change, files: _Files, rest: AtRest) -> dict[str, Edited] | None:
    """The manifests among what the source has changed, by path; None where something else counts in it."""
    from gitplacer.rewriting import Edited, Rewritable  # which takes a while; a pass that is spared does without

    new = work.inputs.source
    old = change.that_counts(new, files.unread).texts(new)
    paths = [path for path in old or () if path in files.rewritable and path not in rest.edited]
    others = set(old or ()) - set(paths)
    if old is None or any(is_read(path) or path in files.unread for path in others):
        return None
    both = read_both(paths, old, new, memo)
    if both is None:
        return None
    texts = [tree.read_all(paths) for tree in (old, new)]
    found = {}
    for path, each in both.items():
        rewritable = pickle.loads(files.rewritable[path])
        assert isinstance(rewritable, Rewritable)
        found[path] = Edited(rewritable, texts[0][path], texts[1][path], each.was, each.now)
    return found


def _is_told(path: str, quiet: Quiet) -> bool:
    """Whether something that is wrong is in a file or about it, and tells of a place in it."""
    return any(path == p.location.file or path in p.message or path in p.hint for p in quiet.problems)


def _touch(
    memo: Memo, work: Work, folder: str, rest: AtRest, edited: Mapping[str, Edited], waiting: Mapping[str, str]
) -> Touch | None:
    """The commit that writes edited manifests again; None where that is for a whole pass to find out."""
    from gitplacer.rewriting import needed, rewritten, stands_the_same

    inputs, rewritables = work.inputs, [each.rewritable for each in edited.values()]
    assert inputs.commit is not None
    if any(_is_told(path, rest.quiet) and not stands_the_same(each) for path, each in edited.items()):
        return None
    deployed = _deployed(work, [*needed(rewritables), METADATA])
    written = rewritten(list(edited.values()), deployed, work.source.spec) if deployed is not None else None
    if written is None or deployed is None or METADATA not in deployed:
        return None
    source = inputs.commit.id
    landed = partial(_landed, memo, work, folder, rest)
    if not written:
        return Touch(Changes(), "", rest.quiet, source, landed)
    said = {each.group: each.said for each in rewritables if any(place.path in written for place in each.places)}
    metadata = hydrator_metadata(inputs.commit)
    if metadata != deployed[METADATA]:
        written[METADATA] = metadata
    people = people_of(replace(inputs, deployment=Tree.of({METADATA: deployed[METADATA]})))
    subject, body, own = updates_message(said, waiting)
    message = whole_message(subject, body, [*trailers_of(inputs).lines(1, 1), *own, *people])
    return Touch(Changes(dict(sorted(written.items()))), message, rest.quiet, source, landed)


def _landed(memo: Memo, work: Work, folder: str, rest: AtRest, tip: str) -> None:
    """Know the fleet to be at rest on what was published, and what changes of it are held against."""
    inputs, repository = work.inputs, work.source.repository
    assert inputs.commit is not None and repository is not None
    keep_rest(memo, work, folder, tip, replace(rest, source=inputs.commit.id))
    place = place_of(work.deployment, folder)
    old, new = (repository.tree_id(each, folder) for each in (rest.source, inputs.commit.id))
    known, then = base_key(inputs, old), base_key(replace(inputs, deployment_commit=tip), new)
    text = base_at(memo, place, known) if known is not None else None
    if text is not None and then is not None:
        keep_base(memo, place, then, text)


def _deployed(work: Work, paths: list[str]) -> dict[str, bytes] | None:
    """What is at some paths of the deployment repo, as far as there are files; None where git cannot be asked for one."""
    if any("\n" in path for path in paths):
        return None
    objects = work.deployment.repository.objects.look_up_all(f"{work.deployment.tip}:{path}" for path in paths)
    return {path: each.data for path, each in zip(paths, objects, strict=True) if each and each.kind == "blob"}
