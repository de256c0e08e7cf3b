"""What there is to say of an adoption: to who asked for it, and in the README.md of the fleet repo."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping

from gitplacer.adoption.adopt import Adoption
from gitplacer.adoption.owners import Owner
from gitplacer.adoption.remarks import Remark
from gitplacer.explain import LONGEST_SENTENCE
from gitplacer.plaintext import LONGEST_PATH, aligned, few, printable


def told(found: Adoption, fleet: str, deployment: str) -> Iterator[str]:
    """Lines: what was made of what, then whatever is not quite as it was."""
    rows = [
        ("clusters", f"{few(found.folders.clusters)}, by {printable(found.folders.pattern)}"),
        ("engine", found.engine),
        ("objects", f"{found.workloads} for workloads, {found.platform} for the platform"),
        ("overrides", f"{len(found.fleet.overrides)}, of what differs between clusters"),
        ("groups kept", str(found.groups)),
        ("fleet repo", printable(fleet)),
        ("deployment repo", printable(deployment)),
    ]
    yield from aligned(rows, indent="")
    yield from _listed("Platform objects that no workload may be", found.fell_back)
    yield from _listed("Written otherwise than before", found.noted)
    yield from _listed("Applied otherwise than it stands in the folders", found.altered)
    yield from _listed("Left where it is, and not adopted", found.left)


def _listed(title: str, remarks: Iterable[Remark]) -> Iterator[str]:
    items = list(remarks)
    if items:
        yield ""
        yield f"{title} ({len(items)})"
    for remark in items:
        yield f"  {printable(str(remark.location), LONGEST_PATH)}: {printable(remark.message, LONGEST_SENTENCE)}"
        if remark.hint:
            yield f"    hint: {printable(remark.hint, LONGEST_SENTENCE)}"


def readme(found: Adoption, texts: Mapping[str, bytes], fleet: str, deployment: str) -> bytes:
    """What is in the fleet repo, and the way over for its engine. `fleet` and `deployment` are names of directories side by side."""
    text = texts["README.md"].replace(b"@ENGINE_STEPS@", texts[f"README.{found.engine}.md"].rstrip())
    marks = {
        b"@LEFT@": texts["README.left.md"] if found.left else b"",
        b"@OWNERS@": _listed_owners([owner for owner in found.owners if owner.engine == found.engine]),
        b"@FLEET@": shlex.quote(fleet).encode(),
        b"@DEPLOYMENT@": shlex.quote(deployment).encode(),
        b"@CLUSTER@": found.folders.clusters[0].encode(),
        b"@PATTERN@": printable(found.folders.pattern).encode(),
    }
    for mark, value in marks.items():
        text = text.replace(mark, value)
    return text


def _listed_owners(owners: Iterable[Owner]) -> bytes:
    lines = [f"   - {o.kind} `{printable(o.name)}`, at {printable(str(o.location), LONGEST_PATH)}\n" for o in owners]
    return "".join(lines or ["   - none: look where they were made\n"]).rstrip().encode()
