"""
Pods that the API server refuses, of templates that it takes.

The schema of a Ray object says of what type the fields of a pod are, and little more. So the object is applied and the sync has
succeeded; then KubeRay makes a pod of the template, is refused, and tries again for ever. Of Kubernetes' own kinds the API server
says it at once, so only Ray's are looked at. Not everything that Kubernetes checks is here: what people get wrong, and what is wrong
wherever the pod goes. What is missing that the schema asks for is told by the API server itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from gitplacer.documents import Cursor
from gitplacer.model.labels import is_dns_label
from gitplacer.problems import nearest
from gitplacer.rules.containers import pod_spec
from gitplacer.rules.manifest import RayManifest, Rule, tell
from gitplacer.rules.rayjob import submission_mode

_LABEL_HINT = "write up to 63 lower-case letters, digits and dashes, with a letter or digit at both ends"
_PORT = re.compile(r"(?=[0-9-]*[a-z])[a-z0-9]+(-[a-z0-9]+)*")
_LONGEST_PORT = 15
_LAST_PORT = 65535
_PORT_HINT = f"write up to {_LONGEST_PORT} lower-case letters, digits and single dashes, a letter among them"
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS = ("postStart", "preStop")

_WORDS_OF_POD = {
    "dnsPolicy": ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
    "restartPolicy": ("Always", "Never", "OnFailure"),
}
_WORDS_OF_CONTAINER = {"imagePullPolicy": ("Always", "IfNotPresent", "Never")}
_WORDS_OF_PORT = {"protocol": ("SCTP", "TCP", "UDP")}
_WORDS_OF_HEAD = {"serviceType": ("ClusterIP", "LoadBalancer", "NodePort")}
"""Fields with the words that they may be; with a small letter they are others."""
_SOURCES = frozenset(
    {
        "awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral",
        "fc", "flexVolume", "flocker", "gcePersistentDisk", "gitRepo", "glusterfs", "hostPath", "image", "iscsi", "nfs",
        "persistentVolumeClaim", "photonPersistentDisk", "portworxVolume", "projected", "quobyte", "rbd", "scaleIO", "secret",
        "storageos", "vsphereVolume",
    }
)  # fmt: skip
"""What a volume may be of. Anything else beside its name is dropped."""
_NAMED_SOURCES = {"configMap": "name", "persistentVolumeClaim": "claimName", "secret": "secretName"}
"""Those of them that are one of many, and the field that says which."""


def refused_pods(manifest: RayManifest) -> None:
    """
    Each template makes pods that the API server takes, and the head a Service.
    Source: ValidatePodSpec in pkg/apis/core/validation of Kubernetes 1.34.
    """
    _words(manifest.head, _WORDS_OF_HEAD)
    for group in (manifest.head, *manifest.groups):
        _pod(pod_spec(group))
    job = manifest.job
    if job is not None and job.has("submitterPodTemplate") and submission_mode(manifest) == "K8sJobMode":
        _pod(job.mapping("submitterPodTemplate").mapping("spec"))


def _pod(spec: Cursor) -> None:
    _words(spec, _WORDS_OF_POD)
    containers = [*spec.items("initContainers"), *spec.items("containers")]
    _names(containers, "container")
    for container in containers:
        _container(container)
    volumes = spec.items("volumes")
    _names(volumes, "volume")
    for volume in volumes:
        _volume(volume)


def _container(container: Cursor) -> None:
    _words(container, _WORDS_OF_CONTAINER)
    ports = container.items("ports")
    _twice(ports, "name", lambda name: f"two ports of the container have the name {name}")
    for port in ports:
        _port(port)
    for variable in container.items("env"):
        _variable(variable)
    hooks = container.mapping("lifecycle")
    for owner in (*map(container.mapping, _PROBES), *map(hooks.mapping, _HOOKS)):
        for way in ("httpGet", "tcpSocket"):
            _aim(owner.mapping(way))
    mounts = container.items("volumeMounts")
    _twice(mounts, "mountPath", lambda path: f"two volumes are mounted at {path}")
    for mount in mounts:
        _inside(mount, "subPath")


def _aim(action: Cursor) -> None:
    """Where a probe or a hook goes to: a number, or the name of a port; a number in quotes is a name that no port has."""
    port = action.value.get("port")
    if isinstance(port, str) and not _is_port_name(port):
        hint = "write the number without quotes" if port.isdecimal() else _PORT_HINT
        _tell(action, f'port is "{port[:63]}", which is no name of a port', hint, key="port")


def _is_port_name(name: str) -> bool:
    return len(name) <= _LONGEST_PORT and _PORT.fullmatch(name) is not None


def _port(port: Cursor) -> None:
    _words(port, _WORDS_OF_PORT)
    name = port.text("name")
    if name and not _is_port_name(name):
        _tell(port, f'a port cannot have the name "{name[:63]}"', _PORT_HINT, key="name")
    for key in ("containerPort", "hostPort"):
        number = port.integer(key)
        if number is not None and not (0 if key == "hostPort" else 1) <= number <= _LAST_PORT:
            _tell(port, f"{key} is {number}", f"write a number from 1 to {_LAST_PORT}", key=key)


def _variable(variable: Cursor) -> None:
    if "=" in variable.text("name"):
        _tell(variable, "the name of a variable has a = in it", "put what is after it into value", key="name")
    if variable.value.get("value") and variable.value.get("valueFrom"):
        _tell(variable, "a variable has value and valueFrom", "remove one of the two", key="valueFrom")


def _volume(volume: Cursor) -> None:
    sources = [key for key, found in volume.value.items() if key in _SOURCES and found is not None]
    if len(sources) > 1:
        _tell(volume, f"a volume is of {' and of '.join(sorted(sources))}", "make two volumes of it", key=sources[1])
    for kind, key in _NAMED_SOURCES.items():
        if not volume.has(kind):
            continue
        source = volume.mapping(kind)
        if not source.value.get(key):
            told = [other for other in ("name", "secretName") if source.value.get(other)]
            hint = f"write {key} where {told[0]} is" if told else f"add {key}"
            _tell(volume, f"{kind} does not say which: {key} is missing", hint, key=kind)
    for path in (("configMap",), ("secret",), ("downwardAPI",), ("projected", "sources")):
        for source in _at(volume, *path):
            for item in source.items("items"):
                _inside(item, "path")


def _at(volume: Cursor, key: str, below: str = "") -> Iterator[Cursor]:
    """What has items in a volume: its source, or each source of a projected one."""
    if not volume.has(key):
        return
    if not below:
        yield volume.mapping(key)
        return
    for source in volume.mapping(key).items(below):
        yield from (source.mapping(kind) for kind in ("configMap", "secret", "downwardAPI") if source.has(kind))


def _inside(owner: Cursor, key: str) -> None:
    """A path in a volume stays in it."""
    path = owner.text(key)
    if path.startswith("/") or ".." in path.split("/"):
        _tell(
            owner,
            f"{key} leads out of the volume: {path[:100]}",
            "write a path below it: no / at its beginning, no ..",
            key=key,
        )


def _words(owner: Cursor, words: Mapping[str, tuple[str, ...]]) -> None:
    for key, known in words.items():
        word = owner.text(key) if owner.has(key) else ""
        if word and word not in known:
            _tell(owner, f'{key} cannot be "{word[:63]}"', nearest(word, known), key=key)


def _names(items: list[Cursor], what: str) -> None:
    for item in items:
        name = item.text("name")
        if name and not is_dns_label(name):
            _tell(item, f'a {what} cannot have the name "{name[:100]}"', _LABEL_HINT, key="name")
    _twice(items, "name", lambda name: f"two {what}s of the pod have the name {name}")


def _twice(items: list[Cursor], key: str, said: Callable[[str], str]) -> None:
    seen: set[str] = set()
    for item in items:
        found = item.text(key)
        if found and found in seen:
            _tell(item, said(found[:100]), "change or remove one of the two", key=key)
        seen.add(found)


def _tell(owner: Cursor, message: str, hint: str, *, key: str) -> None:
    tell(owner, "RefusedPod", message, hint, key=key)


RULES: tuple[Rule, ...] = (refused_pods,)
