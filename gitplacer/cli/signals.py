"""
Signals that end a command which runs for long: the first one gently, the second at once.

The system gives a signal to any thread, and Python runs its handlers in the main one only when that comes back from what it waits for. So
nothing is decided in a handler. Python writes the number of each signal into a pipe, as soon as it comes; a thread reads it, and
either ends the process or wakes the main thread with a signal that is meant for that thread alone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator

ENDING = (signal.SIGTERM, signal.SIGINT)
_WAKING = signal.SIGUSR2


@contextlib.contextmanager
def ended_by_signals(first: Callable[[], None], interrupt: Callable[[], None]) -> Iterator[None]:
    """
    As long as the context lasts, a first SIGTERM or SIGINT calls `first`, in any thread, and then `interrupt` in the main thread, which may
    raise there. A second one ends the process with 128 and its number. To be used in the main thread.
    """
    main = threading.get_ident()
    reading, writing = socket.socketpair()
    writing.setblocking(False)

    def follow() -> None:
        came = 0
        while number := reading.recv(1):
            if number[0] in ENDING:
                came += 1
                if came > 1:
                    os._exit(128 + number[0])
                first()
                signal.pthread_kill(main, _WAKING)

    before = {each: signal.signal(each, lambda number, frame: None) for each in ENDING}
    before[_WAKING] = signal.signal(_WAKING, lambda number, frame: interrupt())
    former = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
    follower = threading.Thread(target=follow, daemon=True)
    follower.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(former)
        writing.close()
        follower.join()  # before the handlers go: its last signal would end the process
        for each, handler in before.items():
            signal.signal(each, handler)
        reading.close()
