"""`gitplacer snapshot --hub`: what a hub knows of its clusters, from its API or from a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gitplacer.cli.streams import print_bytes
from gitplacer.plaintext import printable

if TYPE_CHECKING:
    from gitplacer.capacity.access import Access
    from gitplacer.kinds.capacity import CapacitySnapshot


def told_by_hub(
    hub: str, dump: str | None, access: Access | None, now: datetime, say: Callable[[str], None]
) -> list[CapacitySnapshot]:
    """The snapshots of a hub's clusters. Raises UsageError where it knows none, and ClusterError."""
    from gitplacer.observing.hubs import HUBS, read_hub
    from gitplacer.scheduler.reading import mappings
    from gitplacer.settings import UsageError

    sort = HUBS[hub]
    # Items of a list do not say what they are.
    listed = {"apiVersion": f"{sort.api_group}/", "kind": sort.kind}
    objects = _dumped(dump) if access is None else [{**listed, **item} for item in mappings(_listed(access, sort.path))]
    found, unheard = read_hub(sort, objects, now)
    for one in unheard:
        say(f"no snapshot of {one.name}: {one.why}")
    if not found and not unheard:
        where = f"{dump} has" if access is None else "the hub has"
        raise UsageError(f"{where} no {sort.kind} of {sort.api_group}", "give --hub as the hub is")
    return found


def _listed(access: Access, path: str) -> list[Any]:
    from gitplacer.capacity.access import Again

    found: list[Any] = []
    for page in access.pages(path):
        if isinstance(page, Again):
            found.clear()
        else:
            found += page
    return found


def _dumped(dump: str | None) -> list[Any]:
    import json
    import sys

    from gitplacer.scheduler.reading import mappings
    from gitplacer.settings import UsageError

    assert dump is not None
    data = sys.stdin.buffer.read() if dump == "-" else Path(dump).read_bytes()
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{dump} is not JSON ({error})", "it is what `kubectl get … -o json` prints") from None
    return mappings(value["items"] if isinstance(value, dict) and "items" in value else [value])


def write_all(snapshots: Sequence[tuple[CapacitySnapshot, bytes]], target: str) -> int:
    """Write each snapshot to a file in a directory, named after its cluster; to stdout with `-`, one document after the other."""
    from gitplacer.cli.files import write_whole
    from gitplacer.cli.progress import note

    if target == "-":
        print_bytes(b"---\n".join(data for _, data in snapshots))
        return 0
    folder = Path(target)
    folder.mkdir(parents=True, exist_ok=True)
    for found, data in snapshots:
        write_whole(folder / f"{found.name}.yaml", data)
    note(f"wrote to {printable(target)}: {', '.join(found.name for found, _ in snapshots) or 'nothing'}")
    return 0
