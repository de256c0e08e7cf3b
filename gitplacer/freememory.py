"""
Memory that is free, given back to the system.

What has passed through this process in many pieces, such as all that other processes have parsed for it, leaves holes between what
stays, and the C library keeps them for pieces of their size. A pass that goes on to plan makes values of other sizes beside them. Where
the library cannot give back, nothing happens.
"""

from __future__ import annotations


def give_back() -> None:
    """Let go of every page of memory that nothing lies in."""
    import ctypes  # late: most passes have nothing to give back

    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):  # another C library than glibc
        return
    trim(0)
