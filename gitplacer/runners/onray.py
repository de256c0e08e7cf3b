"""
Questions on a Ray cluster.

What answers them is put into Ray's object store once, with the fleet and the plan of the pass that is due; tasks carry questions and
nothing else. Each worker process takes it out once, however many questions it is given. A worker that is killed, or whose machine is
lost, costs the chunk it was at: Ray gives that to another. The workers need gitplacer of the same version, which is asked before
anything else.
"""

from __future__ import annotations

import contextlib
import importlib
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, TypeVar

from gitplacer import __version__
from gitplacer.runners import TRIES, Telling, chunked
from gitplacer.settings import UsageError

Question = TypeVar("Question")
Answer = TypeVar("Answer")

_PATIENCE = 10
"""Seconds to wait for somebody who listens."""
_TAKES = "--ray-address takes what RAY_ADDRESS takes: host:port, ray://host:port, auto, or local to start one here"
_SAME = "install gitplacer of this version in the cluster's image, or in its runtime_env"
_known: dict[bytes, Callable[[Any], Any]] = {}
"""In a worker: what answers, by the id of the object that it was taken from."""


def on_ray(
    ask: Callable[[Question], Answer],
    questions: Sequence[Question],
    address: str,
    telling: Telling,
    processes: int | None = None,
) -> list[Answer]:
    """
    The answers, in the order of the questions. `ask` can be pickled; what it raises is raised here. `address` is as for `ray.init`, and
    `processes` how many workers a cluster has that is started here. Raises UsageError.
    """
    with connected(address, processes) as ray:
        return answers(ray, ask, questions, telling)


@contextlib.contextmanager
def connected(address: str, processes: int | None = None) -> Iterator[Any]:
    """The module of Ray, as long as it is connected to a cluster, as for `on_ray`."""
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError:
        hint = "pip install 'gitplacer[ray]', with the version of Ray that the cluster has"
        raise UsageError("--runner ray needs Ray, which is not installed", hint) from None
    _refuse_silence(address)
    more = {"num_cpus": processes} if processes is not None else {}
    try:
        ray.init(address=address, log_to_driver=False, logging_level="error", ignore_reinit_error=True, **more)
    except (ConnectionError, ValueError, RuntimeError, OSError) as error:
        raise UsageError(f"no Ray cluster at {address}: {_first_line(error)}", _TAKES) from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _refuse_silence(address: str) -> None:
    """Raise if nobody listens at an address: Ray itself would go on trying for many minutes."""
    host, colon, port = address.rpartition("://")[2].rpartition(":")
    if not colon:
        return  # auto, or local
    if not port.isdecimal():
        raise UsageError(f"--ray-address {address} is no address", _TAKES)
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise UsageError(f"no Ray cluster at {address}: {error}", _TAKES) from None


def answers(
    ray: Any, ask: Callable[[Question], Answer], questions: Sequence[Question], telling: Telling
) -> list[Answer]:
    """The same as `on_ray`, of a cluster that somebody is connected to."""
    put = ray.put(ask)
    # A thrown exception is an answer; only a worker that is gone is a reason to ask again.
    task: Callable[..., Any] = ray.remote(_answered).options(num_cpus=1, max_retries=TRIES - 1).remote
    chunks = chunked(questions, int(ray.cluster_resources().get("CPU", 1)) or 1)
    number = {task([put], put.binary(), chunk, __version__): index for index, chunk in enumerate(chunks)}
    found: list[Sequence[Answer]] = [()] * len(chunks)
    waiting, done = list(number), 0
    try:
        with telling() as told:
            while waiting:
                ready, waiting = ray.wait(waiting, num_returns=1)
                for ref in ready:
                    found[number[ref]] = ray.get(ref)
                    done += len(chunks[number[ref]])
                    told(done)
    except ray.exceptions.RayError as error:
        _leave(ray, waiting)
        _raise(ray, error)
    except BaseException:
        _leave(ray, waiting)
        raise
    return [answer for chunk in found for answer in chunk]


def _leave(ray: Any, waiting: Sequence[Any]) -> None:
    """Ask for nothing more, so that a cluster which others use does not work for nobody."""
    for ref in waiting:
        ray.cancel(ref, force=True)


def _raise(ray: Any, error: Any) -> NoReturn:
    """Raise what came instead of an answer as what it is."""
    if isinstance(error, ray.exceptions.WorkerCrashedError | ray.exceptions.OutOfMemoryError):
        hint = "where memory is short, workers are killed: give them more, or fewer CPUs for each machine"
        raise UsageError(f"Ray workers were killed {TRIES} times over the same questions", hint) from None
    if not isinstance(error, ray.exceptions.RayTaskError):
        raise UsageError(f"the Ray cluster failed: {_first_line(error)}", "ask again; its logs say more") from None
    cause = error.cause
    if isinstance(cause, ImportError) or "failed to import" in str(
        cause
    ):  # Ray's words, where it lacks the module of a task
        raise UsageError(f"a Ray worker cannot run gitplacer {__version__}: {_first_line(cause)}", _SAME) from None
    raise cause from None


def _first_line(error: BaseException) -> str:
    said = str(error).strip()
    return said.splitlines()[0] if said else type(error).__name__


def _answered(refs: list[Any], key: bytes, chunk: Sequence[Any], version: str) -> list[Any]:
    """In a worker. The object comes as a reference in a list, so that it is fetched only by who does not know it yet."""
    if version != __version__:
        raise UsageError(f"the Ray cluster has gitplacer {__version__}, and this is {version}", _SAME)
    if key not in _known:
        ray: Any = importlib.import_module("ray")
        _known.clear()
        _known[key] = ray.get(refs[0])
    return [_known[key](question) for question in chunk]
