"""What a strategy looks at, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from msgspec import Struct

from gitplacer.model.decision import Move, Phase
from gitplacer.relocation.evidence import Seen


class Look(Struct, frozen=True, kw_only=True):
    """
    What is known of a relocation. `ready` and `gone` tell by cluster what its snapshot says, None where it says nothing; `is_lost`
    whether a cluster is gone for good, so that there is nothing to wait for; `takes` whether a group may still go there.
    `came` are the targets that came for this relocation, `consented` tells whether the old copy may go, `is_called_off` whether the
    reason for it is gone.
    """

    now: datetime
    ready: Callable[[str], Seen | None]
    gone: Callable[[str], Seen | None]
    is_lost: Callable[[str], bool]
    takes: Callable[[str], bool]
    came: frozenset[str]
    timeout: timedelta
    soak: timedelta
    consented: bool
    is_called_off: bool


class Progress(Struct, frozen=True):
    """The phase that this pass carries out, None if it only waits, and the relocation as it then is; None once it is over."""

    move: Move | None
    phase: Phase | None = None
