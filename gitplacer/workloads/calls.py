"""
The Services that the pods of an object call, as far as their environment, their command lines and what Ray is to run in them say so.

A frontend has `http://llm-serve-svc:8000` in a variable, a worker says `ray start --address=ray-head:6379`: where no such Service is, neither works. Read
are literal values, words of `command` and `args`, the texts of a Ray job or service: hosts after `://`, names with a port, names that end as those that KubeRay gives Services, and names that end
in `.svc`. What is no Service of the source is no call. A call joins nothing, for one may have many callers and be called by nobody that minds; where it leads nowhere, that is told (see `placement.apart`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

from gitplacer.documents import Path
from gitplacer.workloads.facts import Reference, at, distinct

_MOST = 100
"""Calls of one object that are looked at."""
_SIGNS = (":", "-svc", ".svc")
_HOST = re.compile(
    r"""://(?:[^@/\s"'<>]*@)?(?P<url>[a-z0-9][a-z0-9.-]*)"""
    r"""|(?<![\w.:/@-])(?P<port>[a-z][a-z0-9.-]*)(?=:[0-9]{2,5}(?![\w.:-]))"""
    r"""|(?<![\w.:/@-])(?P<bare>[a-z0-9][a-z0-9-]*(?:-svc(?:\.[a-z0-9][a-z0-9.-]*)?|(?:\.[a-z0-9][a-z0-9-]*)+\.svc(?:\.[a-z0-9.-]*)?))(?![\w-])""",
    re.ASCII,
)
_NAME = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)
_CONTAINERS = ("initContainers", "containers")
_RAY_SPECS = (("spec",), ("spec", "jobTemplate"))
_RAY_TEXTS = ("entrypoint", "runtimeEnvYAML", "serveConfigV2")


def of_pod_templates(value: Mapping[str, Any], templates: Iterable[Path]) -> tuple[Reference, ...]:
    """
    What the pods of the templates at the given paths of an object call, and what Ray runs in them, each once, sorted. Never raises and never
    reports.
    """
    own = at(value, ("metadata", "namespace"))
    texts = chain(*(_texts(value, (*template, "spec")) for template in templates), _ray_texts(value))
    found = (_service(host, path, own) for host, path in _hosts(texts))
    return distinct(islice((each for each in found if each is not None), _MOST))


def _ray_texts(value: Mapping[str, Any]) -> Iterator[tuple[str, Path]]:
    """The command of a job, its variables, and what a service is to serve."""
    if not str(value.get("apiVersion")).startswith("ray.io/"):
        return
    for spec in _RAY_SPECS:
        for key in _RAY_TEXTS:
            if isinstance(text := at(value, (*spec, key)), str):
                yield text, (*spec, key)


def _hosts(texts: Iterable[tuple[str, Path]]) -> Iterator[tuple[str, Path]]:
    for text, path in texts:
        if any(sign in text for sign in _SIGNS):
            for match in _HOST.finditer(text):
                yield match["url"] or match["port"] or match["bare"], path


def _texts(value: Mapping[str, Any], spec: Path) -> Iterator[tuple[str, Path]]:
    for key in _CONTAINERS:
        for i, container in enumerate(_list(at(value, (*spec, key)))):
            path = (*spec, key, i)
            for j, variable in enumerate(_list(at(container, ("env",)))):
                if isinstance(text := at(variable, ("value",)), str):
                    yield text, (*path, "env", j, "value")
            for words in ("command", "args"):
                for j, word in enumerate(_list(at(container, (words,)))):
                    if isinstance(word, str):
                        yield word, (*path, words, j)


def _list(found: Any) -> list[Any]:
    return found if isinstance(found, list) else []


def _service(host: str, path: Path, own: Any) -> Reference | None:
    """The Service of a host: `llm`, `llm.ns`, `llm.ns.svc.cluster.local`, also of a pod behind it. One of all clusters of a set is no matter of place."""
    labels = host.rstrip(".").split(".")
    if len(labels) <= 2:
        name, namespace = labels[0], labels[1] if len(labels) == 2 else ""
    elif "svc" in labels[2:] and "clusterset" not in labels:
        end = labels.index("svc", 2)
        name, namespace = labels[end - 2], labels[end - 1]
    else:
        return None
    if not _NAME.fullmatch(name):
        return None
    return Reference("", "Service", name, optional=True, namespace="" if namespace == own else namespace, path=path)
