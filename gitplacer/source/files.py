"""
Files to documents, each blob parsed once.

Parsing and sizing depend on a file's bytes alone, so their results are remembered by blob id: a file that did
not change is not parsed again, in this process or the next. What is remembered never changes an answer.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from gitplacer import rules, workloads
from gitplacer.documents import Document, Fault, ParsedFile, parse
from gitplacer.kinds.parse import made_of
from gitplacer.problems import Location, Problem
from gitplacer.source.alike import unlike
from gitplacer.tree import SPECIAL, SUBMODULE, Entry, Tree
from gitplacer.workloads.facts import ObjectFacts, Role

READ_ENDINGS = (".yaml", ".yml", ".json")
MAX_FILE = 4 * 1024 * 1024
"""Bytes. A manifest is a few thousand; etcd refuses objects beyond 1.5 MiB."""
MAX_SNAPSHOT = 32 * 1024 * 1024
"""Bytes. A snapshot of 5,000 unfolded nodes is about 3 MB."""
AT_HAND = 16 * 1024
"""Bytes of a file that stay at hand after it was parsed, for edits and places; a longer one, such as a snapshot, is fetched again."""


@dataclass(frozen=True)
class ReadFile:
    """
    One blob, parsed: `facts` and `problems` have one item for each document. Problems are in a file of no name, because
    several paths may hold the blob.

    It and the dataclasses that it is made of have no slots: with slots they take four times as long to unpickle. Facts, which are half of that, are
    pickled by themselves: those of apps that are copies but for their names are the same bytes, and become the same object.
    """

    parsed: ParsedFile
    facts: tuple[ObjectFacts, ...] = ()
    problems: tuple[tuple[Problem, ...], ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "facts": pickle.dumps(self.facts, protocol=5)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, facts=_facts(state["facts"]))


_MOST_KNOWN = 1 << 16
_known: dict[bytes, tuple[ObjectFacts, ...]] = {}
"""By digest, the facts that were unpickled; all are forgotten before they are too many."""
_same: dict[Any, Any] = {}
"""The one object that equals a part of them: a shape, labels, demands. Many apps that are no copies have these in common."""


def _facts(pickled: bytes) -> tuple[ObjectFacts, ...]:
    digest = hashlib.blake2b(pickled, digest_size=16).digest()
    found = _known.get(digest)
    if found is None:
        if len(_known) >= _MOST_KNOWN:
            forget_shared()
        found = _known[digest] = tuple(map(_interned, pickle.loads(pickled)))
    return found


def forget_shared() -> None:
    """Let go of what is only kept because files that are still to come may share it. Who makes one pass after another calls this between them."""
    _known.clear()
    _same.clear()


def _interned(facts: ObjectFacts) -> ObjectFacts:
    """The same facts, made of parts that others have as well."""
    one = _same.setdefault
    roles = tuple(
        Role(**{**r.__dict__, "shape": one(r.shape, r.shape), "named": one(r.named, r.named)}) for r in facts.roles
    )
    # What is demanded equals the same in another place, which is told of it.
    where = tuple(demand.path for demand in facts.demands)
    demands = one((facts.demands, where), facts.demands)
    return facts.but(roles=roles, pods=one(facts.pods, facts.pods), demands=demands)


Parser = Callable[[bytes, int], ReadFile]
"""Given a file's bytes, and how many are read at most."""
NOT_READABLE = "NotReadable"


def unreadable(why: str) -> ReadFile:
    """A file that could not be parsed at all, though it is none that is refused."""
    hint = "make it smaller and simpler, or take it out; if it is an ordinary file, this is a bug in gitplacer"
    return ReadFile(ParsedFile((), (Fault(1, 1, NOT_READABLE, why, hint),)))


def is_read(path: str) -> bool:
    """Whether a file of a source is looked into at all: by its ending, and not if it or its folder is hidden, as `.github` is."""
    return path.endswith(READ_ENDINGS) and not is_hidden(path)


def is_hidden(path: str) -> bool:
    """Whether a path or a folder of it begins with a dot."""
    return path.startswith(".") or "/." in path


def is_read_but_for_case(path: str) -> bool:
    """Whether a file of a source would be looked into if its ending were in lower case."""
    return not path.endswith(READ_ENDINGS) and is_read(path.lower())


Maker = Callable[[], bytes | None]
"""Makes a text, of what it has and nothing else; None where it cannot."""
Makers = Callable[[], Mapping[str, Maker]]
"""Gets ready those who make some texts, by digest."""


class Memo(Protocol):
    """
    Remembers `ReadFile`s by blob id, and texts by a digest of all they were made from. Forgetting is always allowed.
    """

    def parse(self, data: bytes, max_bytes: int) -> ReadFile:
        """What is to be remembered of a file that is not known. Whoever knows a safer place for that does it there."""
        return read_file(data, max_bytes)

    def parse_all(self, blobs: Mapping[str, bytes], max_bytes: int) -> Mapping[str, ReadFile]:
        """The same of many, by blob id; of one that could not be read to its end, one of `GIVEN_UP`."""
        return {oid: attempted(self.parse, data, max_bytes) for oid, data in blobs.items()}

    def recall(self, oids: Iterable[str]) -> Mapping[str, ReadFile]: ...

    def remember(self, files: Mapping[str, ReadFile]) -> None: ...

    def recall_text(self, digest: str) -> bytes | None: ...

    def recall_texts(self, digests: Iterable[str]) -> Mapping[str, bytes]: ...

    def remember_text(self, digest: str, text: bytes) -> None: ...

    def make_texts(self, number: int, makers: Makers) -> None:
        """Make so many texts and remember them, if that is faster than one after another when somebody asks."""
        return

    def forked(self) -> Memo:
        """The same for a process that was forked from the one that had it. What that one remembers goes with it."""
        return self


class NoMemo(Memo):
    """Remembers nothing."""

    def recall(self, oids: Iterable[str]) -> Mapping[str, ReadFile]:
        return {}

    def remember(self, files: Mapping[str, ReadFile]) -> None:
        return None

    def recall_text(self, digest: str) -> bytes | None:
        return None

    def recall_texts(self, digests: Iterable[str]) -> Mapping[str, bytes]:
        return {}

    def remember_text(self, digest: str, text: bytes) -> None:
        return None


class InMemory(Memo):
    """
    Remembers in this process, and asks another memo for what it does not know, until it is `alone`: what lies in a file or comes
    through a pipe cannot be shared by processes.
    """

    def __init__(self, before: Memo | None = None) -> None:
        self._before: Memo = before or NoMemo()
        self._files: dict[str, ReadFile] = {}
        self._texts: dict[str, bytes] = {}

    def alone(self) -> None:
        """Ask nobody else from now on."""
        self._before = NoMemo()

    def parse(self, data: bytes, max_bytes: int) -> ReadFile:
        return self._before.parse(data, max_bytes)

    def parse_all(self, blobs: Mapping[str, bytes], max_bytes: int) -> Mapping[str, ReadFile]:
        return self._before.parse_all(blobs, max_bytes)

    def recall(self, oids: Iterable[str]) -> Mapping[str, ReadFile]:
        wanted = list(oids)
        self._files |= self._before.recall([oid for oid in wanted if oid not in self._files])
        return {oid: self._files[oid] for oid in wanted if oid in self._files}

    def remember(self, files: Mapping[str, ReadFile]) -> None:
        self._files |= files
        self._before.remember(files)

    def recall_text(self, digest: str) -> bytes | None:
        return self.recall_texts([digest]).get(digest)

    def recall_texts(self, digests: Iterable[str]) -> Mapping[str, bytes]:
        wanted = list(digests)
        self._texts |= self._before.recall_texts([digest for digest in wanted if digest not in self._texts])
        return {digest: self._texts[digest] for digest in wanted if digest in self._texts}

    def remember_text(self, digest: str, text: bytes) -> None:
        self._texts[digest] = text
        self._before.remember_text(digest, text)


class Aside(Memo):
    """A memo that knows what another knows, and keeps what is new to itself."""

    def __init__(self, memo: Memo) -> None:
        self._memo = memo
        self._files: dict[str, ReadFile] = {}
        self._texts: dict[str, bytes] = {}

    def parse(self, data: bytes, max_bytes: int) -> ReadFile:
        return self._memo.parse(data, max_bytes)

    def parse_all(self, blobs: Mapping[str, bytes], max_bytes: int) -> Mapping[str, ReadFile]:
        return self._memo.parse_all(blobs, max_bytes)

    def recall(self, oids: Iterable[str]) -> Mapping[str, ReadFile]:
        wanted = list(oids)
        known = {oid: self._files[oid] for oid in wanted if oid in self._files}
        missing = [oid for oid in wanted if oid not in known]
        found = self._memo.recall(missing) if missing else {}
        self._files.update(found)
        return {**known, **found}

    def remember(self, files: Mapping[str, ReadFile]) -> None:
        self._files.update(files)

    def recall_text(self, digest: str) -> bytes | None:
        return self.recall_texts([digest]).get(digest)

    def recall_texts(self, digests: Iterable[str]) -> Mapping[str, bytes]:
        wanted = list(digests)
        known = {digest: self._texts[digest] for digest in wanted if digest in self._texts}
        return {**known, **self._memo.recall_texts([digest for digest in wanted if digest not in known])}

    def remember_text(self, digest: str, text: bytes) -> None:
        self._texts[digest] = text


class SourceDocument(Struct, frozen=True):
    """
    A document, what placement wants to know of the object in it, and what is wrong with it. With an error among the
    problems the facts must not be acted on.
    """

    document: Document
    facts: ObjectFacts
    problems: tuple[Problem, ...] = ()


class Reading(Struct, frozen=True):
    """What reading some files gave. `broken` are the files in which something could not be read."""

    documents: Mapping[str, tuple[SourceDocument, ...]]
    problems: tuple[Problem, ...]
    broken: frozenset[str]


def _given_up(code: str, message: str, hint: str) -> ReadFile:
    return ReadFile(ParsedFile((), (Fault(1, 1, code, message, hint),)))


GIVEN_UP: Mapping[type[BaseException], ReadFile] = {
    RecursionError: _given_up("TooDeep", "nested too deeply to be read", "flatten its values"),
    MemoryError: _given_up("TooLarge", "reading it takes more memory than there is", "split the file"),
}
"""Files that could not be read to their end, though they are within all bounds, by what was raised."""


def attempted(parse: Parser, data: bytes, max_bytes: int) -> ReadFile:
    """A file, or one of `GIVEN_UP`: below all other bounds, whatever slips through costs its own file."""
    try:
        return parse(data, max_bytes)
    except RecursionError:
        return GIVEN_UP[RecursionError]
    except MemoryError:
        return GIVEN_UP[MemoryError]


def documents_in(name: str, data: bytes) -> tuple[list[Document], list[Problem]]:
    """The documents of one file that is in no tree, whatever its name, and what is wrong with it."""
    reading = read_documents(Tree.of({name: data}), [name], NoMemo())
    return [item.document for items in reading.documents.values() for item in items], list(reading.problems)


def read_documents(
    tree: Tree, paths: Iterable[str], memo: Memo, *, folder: str = "", max_bytes: int = MAX_FILE
) -> Reading:
    """
    All documents of the given files. Never raises for what is in a file.

    `folder` is put before the paths in problems, when the tree is a subtree.
    """
    problems: list[Problem] = []
    broken: set[str] = set()
    wanted: dict[str, str] = {}
    for path in sorted(paths):
        entry = tree.entries[path]
        fault = _unreadable(entry, max_bytes)
        if fault is None:
            wanted[path] = entry.oid
        else:
            code, message, hint = fault
            problems.append(Problem(Location(folder + path), code, message, hint))
            broken.add(path)
    known = dict(memo.recall(wanted.values()))
    unknown = {oid: path for path, oid in wanted.items() if oid not in known}
    contents = tree.read_all(unknown.values()) if unknown else {}
    fresh = memo.parse_all({oid: contents[path] for oid, path in unknown.items()}, max_bytes) if unknown else {}
    contents = {path: data for path, data in contents.items() if len(data) <= AT_HAND}
    given_up = GIVEN_UP.values()  # which another process may read
    memo.remember({oid: file for oid, file in fresh.items() if not any(file is one for one in given_up)})
    known.update(fresh)
    documents: dict[str, tuple[SourceDocument, ...]] = {}
    for path, oid in wanted.items():
        file = known[oid]
        for fault_ in file.parsed.faults:
            where = Location(folder + path, fault_.line, fault_.column)
            problems.append(Problem(where, fault_.code, fault_.message, fault_.hint))
            broken.add(path)
        documents[path] = tuple(
            SourceDocument(
                Document(folder + path, item, index, _reader(tree, path, contents)),
                file.facts[index],
                tuple(replace(p, location=replace(p.location, file=folder + path)) for p in file.problems[index]),
            )
            for index, item in enumerate(file.parsed.documents)
        )
    return Reading(documents, tuple(problems), frozenset(broken))


def _unreadable(entry: Entry, max_bytes: int) -> tuple[str, str, str] | None:
    if not entry.is_text:
        return "NotAFile", *instead_of_a_file(entry)
    if entry.size > max_bytes:
        return "FileTooLarge", f"is {entry.size:,} bytes, more than {max_bytes:,}", "split the file"
    return None


def instead_of_a_file(entry: Entry) -> tuple[str, str]:
    """What to say of an entry that is no text, and what to do about it."""
    if entry.mode == SPECIAL:
        return "is a named pipe, a socket or a device, which is not opened", "put the file itself there"
    if entry.mode == SUBMODULE:
        return "is a submodule, which is not read", "commit the files themselves"
    return "is a symbolic link, which is not followed", "commit the file itself"


def read_file(data: bytes, max_bytes: int) -> ReadFile:
    """One file, parsed in this process."""
    parsed = parse(data, max_bytes=max_bytes)
    facts, problems = [], []
    for index, item in enumerate(parsed.documents):
        document = Document("", item, index, lambda: data)
        read, found = read_document(document)
        made_of(document)
        facts.append(read)
        problems.append(found)
    return ReadFile(parsed, tuple(facts), tuple(problems))


def read_document(
    document: Document, declared: workloads.Declared = workloads.NONE_DECLARED
) -> tuple[ObjectFacts, tuple[Problem, ...]]:
    """What is to be remembered of the object in a document, and everything that is wrong with it by itself."""
    facts, found = workloads.read(document, declared=declared)
    accounts, of_strangers = rules.check_of_strangers(document)
    facts = facts.remembered().but(accounts=accounts) if accounts else facts.remembered()
    return facts, tuple(sorted({*found, *rules.check(document), *of_strangers, *unlike(document)}))


def _reader(tree: Tree, path: str, contents: Mapping[str, bytes]) -> Callable[[], bytes]:
    """How to get a file's bytes: they are at hand if they have just been parsed. It goes to other processes as it is."""
    return partial(contents.__getitem__, path) if path in contents else partial(tree.read, path)
