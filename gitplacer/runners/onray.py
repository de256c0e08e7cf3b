"""
Questions on a Ray cluster.

The fleet is put into Ray's object store once, as files; each worker process reads and plans it once, however many questions it is
given. The workers need gitplacer of the same version, which is asked before anything else.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from gitplacer import __version__
from gitplacer.hydrate import Inputs
from gitplacer.model.fates import Supposed
from gitplacer.runners import Telling
from gitplacer.settings import UsageError
from gitplacer.source.files import InMemory
from gitplacer.whatif.ground import Ground
from gitplacer.whatif.losses import Loss, Losses

_CHUNK = 8
_known: dict[bytes, Losses] = {}
"""In a worker: what it has read, by the id of the object that it was read from."""


def on_ray(inputs: Inputs, questions: Sequence[Loss], address: str, telling: Telling) -> list[Supposed]:
    """What each loss comes to, in the order of the questions. `address` is as for `ray.init`. Raises UsageError."""
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError:
        hint = "pip install 'gitplacer[ray]', with the version of Ray that the cluster has"
        raise UsageError("--ray needs Ray, which is not installed", hint) from None
    try:
        ray.init(address=address, log_to_driver=False, logging_level="error", ignore_reinit_error=True)
    except (ConnectionError, ValueError, RuntimeError, OSError) as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        hint = "--ray takes what RAY_ADDRESS takes: host:port, ray://host:port, auto, or local to start one here"
        raise UsageError(f"no Ray cluster at {address}: {first}", hint) from None
    try:
        return _answers(ray, inputs.in_memory(), questions, telling)
    finally:
        ray.shutdown()


def _answers(ray: Any, inputs: Inputs, questions: Sequence[Loss], telling: Telling) -> list[Supposed]:
    put = ray.put(inputs)
    task: Callable[..., Any] = ray.remote(_answered).options(num_cpus=1, max_retries=3).remote
    chunks = [tuple(questions[i : i + _CHUNK]) for i in range(0, len(questions), _CHUNK)]
    refs = [task([put], put.binary(), chunk, __version__) for chunk in chunks]
    number = {ref: index for index, ref in enumerate(refs)}
    found: list[list[Supposed]] = [[] for _ in chunks]
    waiting, done = list(refs), 0
    with telling() as told:
        while waiting:
            ready, waiting = ray.wait(waiting, num_returns=1)
            for ref in ready:
                try:
                    found[number[ref]] = ray.get(ref)
                except ray.exceptions.RayTaskError as error:
                    raise error.cause from None
                done += len(chunks[number[ref]])
                told(done)
    return [answer for chunk in found for answer in chunk]


def _answered(refs: list[Any], key: bytes, chunk: Sequence[Loss], version: str) -> list[Supposed]:
    """In a worker. The object comes as a reference in a list, so that it is fetched only by who does not know it yet."""
    if version != __version__:
        message = f"the Ray cluster has gitplacer {__version__}, and this is {version}"
        raise UsageError(message, "install the same version in the cluster's image, or in its runtime_env")
    if key not in _known:
        ray: Any = importlib.import_module("ray")
        _known.clear()
        _known[key] = Losses(Ground.of(ray.get(refs[0]), InMemory()))
    return [_known[key](loss) for loss in chunk]
