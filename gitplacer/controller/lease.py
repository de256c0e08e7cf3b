"""
Who of several replicas works: a lease that one holds and renews, as a machine of values.

The lease is a record that everybody can read and replace, if it is still as it was read. A replica that finds it free, or sees it unchanged for
as long as its holder said it would take, takes it; the holder renews it long before. Whoever could not renew in time stops to lead before
anybody else may begin.

No clock is compared with another. What the record says of times is for people to read; a replica counts, by its own clock that never jumps, since
when it has seen the record unchanged. That is never earlier than the holder's last renewal, and the holder counts from the
moment before it renewed, so two never lead at the same time, however wrong their clocks are. A process that is frozen right after it asked
can still do so; so the lease only saves work, and what keeps the deployment repo right is the push, which lands on what it was computed from or
not at all.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace


class Terms(Struct, frozen=True, kw_only=True):
    """
    Seconds: how long a lease holds without being renewed, how long its holder goes on without having renewed it, and how often
    everybody tries.
    """

    duration: float = 15.0
    deadline: float = 10.0
    retry: float = 2.0


class Record(Struct, frozen=True, kw_only=True):
    """The lease as it is written: '' holds nobody. `version` changes with every write; it is the server's."""

    holder: str
    duration: float
    transitions: int = 0
    version: str = ""


class Election(Struct, frozen=True, kw_only=True):
    """
    What one replica knows. `seen` is the record as it saw it last, and `since` when it saw it first like that; `renewed` is when
    it asked for its last renewal that was granted, None if it does not lead. Times are its own.
    """

    me: str
    terms: Terms = Terms()
    seen: Record | None = None
    since: float = 0.0
    renewed: float | None = None

    def leads(self, now: float) -> bool:
        """Whether it may work."""
        return self.renewed is not None and now - self.renewed < self.terms.deadline


def observed(election: Election, record: Record | None, now: float) -> tuple[Election, Record | None]:
    """
    What a replica knows when it has read the record (None: there is none), and the record that it wants to write in its place; None if it wants
    none.
    """
    if record != election.seen:
        election = replace(election, seen=record, since=now)
    if record is None:
        return replace(election, renewed=None), _mine(election, 0)
    if record.holder == election.me:
        return election, replace(record, duration=election.terms.duration)
    election = replace(election, renewed=None)
    if not record.holder or now - election.since >= record.duration:
        return election, replace(_mine(election, record.transitions + 1), version=record.version)
    return election, None


def granted(election: Election, record: Record, asked: float) -> Election:
    """After a write that was taken: `record` is what is there now, and `asked` when it was sent."""
    return replace(election, seen=record, since=asked, renewed=asked)


def freed(election: Election) -> Record | None:
    """What the holder writes when it ends, so that nobody waits for it; None if it does not hold the lease."""
    if election.seen is None or election.renewed is None or election.seen.holder != election.me:
        return None
    return replace(election.seen, holder="")


def _mine(election: Election, transitions: int) -> Record:
    return Record(holder=election.me, duration=election.terms.duration, transitions=transitions)
