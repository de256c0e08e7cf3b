"""Who answers many questions: this process, others of this machine, or a Ray cluster."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gitplacer.model.fates import Supposed
    from gitplacer.whatif.asking import Asking, Question

    Run = Callable[[Asking, Sequence[Question], str], list[Supposed]]
    """Given who is asked, the questions, and what is being done, as the progress says it. The answers have the order of the questions."""


def runner(name: str | None, processes: int | None, ray_address: str | None) -> Run:
    """The runner that options ask for. Raises UsageError where they contradict each other."""
    from gitplacer.settings import UsageError

    if ray_address is not None and name not in (None, "ray"):
        raise UsageError(f"--ray-address is not for --runner {name}", "leave one of them out")
    name = name or ("ray" if ray_address is not None else "processes")
    address = ray_address or "auto"
    if processes is not None and (name == "local" or (name == "ray" and address != "local")):
        raise UsageError(
            "--processes is for --runner processes, and for a Ray cluster that is started here",
            "leave it out; a Ray cluster has as many workers as it has CPUs",
        )

    def run(asking: Asking, questions: Sequence[Question], doing: str) -> list[Supposed]:
        from gitplacer.cli.progress import progress
        from gitplacer.runners.processes import in_processes, one_after_another, usable_cores

        @contextlib.contextmanager
        def telling() -> Iterator[Callable[[int], None]]:
            with progress() as say:
                say(f"{doing}: {len(questions)} times")
                yield lambda done: say(f"{doing}: {done} of {len(questions)}")

        if name == "local" or len(questions) == 1:
            return one_after_another(asking, questions, telling)
        if name == "ray":
            from gitplacer.runners.onray import on_ray

            return on_ray(asking.to_send(), questions, address, telling, processes)
        return in_processes(asking, questions, processes or usable_cores(), telling)

    return run
