"""
The command by which a worker joins a Ray cluster, as KubeRay would write it for a worker group.

A worker that runs where no KubeRay made it must offer Ray the same as one that KubeRay made, or tasks that wait for what
a group offers would never be given to it. So its `ray start` has the group's `rayStartParams`, and what KubeRay adds: the
processors, memory and accelerators of its container, the group's own `resources` and `labels`, and the ports that probes
ask. Values go to the shell as they are written, as with KubeRay: whoever wrote quotes or a variable meant them.

Source: KubeRay's ray-operator/controllers/ray/common/pod.go (setMissingRayStartParams, generateRayStartCommand,
updateRayStartParamsResources), versions 1.3 to 1.7.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from gitplacer.model.quantity import InvalidQuantity, parse
from gitplacer.workloads.facts import at

GCS_PORT = "6379"
METRICS_PORT = 8080
AGENT_PORT = 52365

_ACCELERATORS = {"aws.amazon.com/neuroncore": "neuron_cores", "google.com/tpu": "TPU"}
"""Extended resources that Ray knows by a name of its own. Of several only the first is told."""
_MIG = re.compile(r"nvidia\.com/mig-\d+g\.\d+gb$")
_SWITCHES = ("include-dashboard", "include-log-monitor", "log-color")
"""Options that want to be told true or false; others with such a value are given, or left out."""


def head_port(head: Mapping[str, Any]) -> str:
    """The port of the GCS, by which workers join."""
    return _params(head).get("port", GCS_PORT)


def ray_start(group: Mapping[str, Any], address: str) -> str:
    """The `ray start` of a worker of a group whose head answers at `address`, with its port."""
    params = _params(group)
    params |= dict(_by_resources(at(group, ("resources",))))
    if labels := _texts(at(group, ("labels",))):
        params["labels"] = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    params["address"] = address
    params["block"] = "true"
    params.setdefault("metrics-export-port", str(METRICS_PORT))
    params.setdefault("dashboard-agent-listen-port", str(AGENT_PORT))
    container = at(group, ("template", "spec", "containers", 0, "resources"))
    limits, requests = _amounts(at(container, ("limits",))), _amounts(at(container, ("requests",)))
    if cpu := limits.get("cpu") or requests.get("cpu"):
        params.setdefault("num-cpus", str(math.ceil(cpu)))
    if memory := limits.get("memory"):
        params.setdefault("memory", str(math.ceil(memory)))
    _add_accelerators(params, limits)
    return " ".join(["ray", "start", *_options(params)])


def _options(params: Mapping[str, str]) -> Iterator[str]:
    for name, value in sorted(params.items()):
        if value.lower() in ("true", "false") and name not in _SWITCHES:
            if value.lower() == "true":
                yield f"--{name}"
        else:
            yield f"--{name}={value}"


def _params(group: Mapping[str, Any]) -> dict[str, str]:
    return _texts(at(group, ("rayStartParams",)))


def _texts(value: Any) -> dict[str, str]:
    items = value.items() if isinstance(value, Mapping) else ()
    return {str(key): item for key, item in items if isinstance(item, str)}


def _amounts(value: Any) -> dict[str, Fraction]:
    """Quantities above zero; what is none has been reported where the manifest was read."""
    found: dict[str, Fraction] = {}
    for name, item in value.items() if isinstance(value, Mapping) else ():
        try:
            amount = parse(str(item))
        except InvalidQuantity:
            continue
        if amount > 0:
            found[str(name)] = amount
    return found


def _by_resources(resources: Any) -> Iterator[tuple[str, str]]:
    """What a group's `resources` say, which go before its rayStartParams."""
    others = {}
    for name, amount in _amounts(resources).items():
        if name.lower() == "cpu":
            yield "num-cpus", str(math.ceil(amount))
        elif name.lower() == "memory":
            yield "memory", str(math.ceil(amount))
        elif _is_gpu(name.lower()):
            yield "num-gpus", str(math.ceil(amount))
        else:
            others[name] = amount
    if others:
        yield "resources", _as_json(others)


def _add_accelerators(params: dict[str, str], limits: Mapping[str, Fraction]) -> None:
    for name in sorted(limits):
        if _is_gpu(name):
            params.setdefault("num-gpus", str(math.ceil(limits[name])))
    written = params.get("resources", "").strip("'\"` ")
    try:
        known = json.loads(written) if written else {}
    except ValueError:
        return  # KubeRay adds nothing to what it cannot read either
    if not isinstance(known, dict) or known.keys() & set(_ACCELERATORS.values()):
        return
    for name in sorted(limits.keys() & _ACCELERATORS.keys()):
        params["resources"] = _as_json({**known, _ACCELERATORS[name]: limits[name]})
        return


def _is_gpu(resource: str) -> bool:
    return resource.endswith("gpu") or _MIG.search(resource) is not None


def _as_json(amounts: Mapping[str, Any]) -> str:
    """In quotes for the shell, because it holds some itself."""
    plain = {name: _number(amount) for name, amount in sorted(amounts.items())}
    return "'" + json.dumps(plain, separators=(",", ":")) + "'"


def _number(amount: Any) -> Any:
    if not isinstance(amount, Fraction):
        return amount
    return int(amount) if amount.denominator == 1 else float(amount)
