"""
What lets a pod out of its container, or onto a node that was not chosen for it.

This is the level "baseline" of Kubernetes' Pod Security Standards (https://kubernetes.io/docs/concepts/security/pod-security-standards/),
and what placement cannot have: a pod that names its node, tolerates every taint there is, or keeps pods of other namespaces away
(Kubernetes bounds the last by the quota scope CrossNamespacePodAffinity, for the same reason:
https://kubernetes.io/docs/concepts/policy/resource-quotas/#cross-namespace-pod-affinity-scope).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gitplacer.documents import Path, dotted
from gitplacer.rules.anything import Anything, ObjectRule

_CAPABILITIES = frozenset(
    [
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    ]
)
_SYSCTLS = frozenset(
    {
        "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.ip_unprivileged_port_start", "net.ipv4.ping_group_range", "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_rmem", "net.ipv4.tcp_syncookies", "net.ipv4.tcp_wmem",
    }
)  # fmt: skip
_SELINUX_TYPES = ("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PROBES = ("httpGet", "tcpSocket")
_UNSET = (None, False, "", 0)

_Told = tuple[Path, str]
_Look = Callable[[Any, Path, Mapping[str, Any]], Iterator[_Told]]
"""Looks at the value of a field, given its path and the mapping it is in; gives places below it and what is wrong there."""


def _set(what: str) -> _Look:
    def look(value: Any, path: Path, around: Mapping[str, Any]) -> Iterator[_Told]:
        if value not in _UNSET:
            yield (), what

    return look


def _host_path(value: Any, path: Path, around: Mapping[str, Any]) -> Iterator[_Told]:
    if value is not None:
        yield (), "gives it files of the node"


def _capabilities(value: Any, path: Path, around: Mapping[str, Any]) -> Iterator[_Told]:
    added = value.get("add") if isinstance(value, dict) else None
    for index, name in enumerate(added) if isinstance(added, list) else ():
        if not isinstance(name, str) or name.removeprefix("CAP_") not in _CAPABILITIES:
            yield ("add", index), f"gives it the capability {name}"


def _profile(value: Any, path: Path, around: Mapping[str, Any]) -> Iterator[_Told]:
    if isinstance(value, dict) and value.get("type") == "Unconfined":
        yield ("type",), "takes the confinement off its system calls and files"


def _selinux(value: Any, path: Path, around: Mapping[str, Any]) -> Iterator[_Told]:
    if not isinstance(value, dict):
        return
    if value.get("type") is not None and value["type"] not in _SELINUX_TYPES:
        yield ("type",), "is a type of SELinux that is not for containers"
    for field in ("user", "role"):
        if value.get(field):
            yield (field,), "changes who it is to SELinux"


def _proc_mount(value: Any, path: Path, around: Mapping[str, Any]) -> Iterator[_Told]:
    if value not in (None, "", "Default"):
        yield (), "shows it more of the node's /proc"


def _sysctls(value: Any, path: Path, around: Mapping[str, Any]) -> Iterator[_Told]:
    for index, item in enumerate(value) if isinstance(value, list) else ():
        name = item.get("name") if isinstance(item, dict) else None
        if isinstance(name, str) and name.replace("/", ".") not in _SYSCTLS:
            yield (index, "name"), f"sets {name}, which others on the node share"


def _tolerations(value: Any, path: Path, around: Mapping[str, Any]) -> Iterator[_Told]:
    for index, item in enumerate(value) if isinstance(value, list) else ():
        if isinstance(item, dict) and item.get("operator") == "Exists" and not item.get("key"):
            yield (index,), "tolerates every taint there is"


def _node_name(value: Any, path: Path, around: Mapping[str, Any]) -> Iterator[_Told]:
    if value and "containers" in around:
        yield (), "names its node, past the scheduler and placement"


def _anti_affinity(value: Any, path: Path, around: Mapping[str, Any]) -> Iterator[_Told]:
    """
    Terms that keep pods of other namespaces off nodes: the scheduler holds them against whoever comes later, so that two pods that ask for
    next to nothing close whole zones to all others.
    """
    terms = value.get(_REQUIRED) if isinstance(value, dict) else None
    for index, term in enumerate(terms) if isinstance(terms, list) else ():
        for field in ("namespaces", "namespaceSelector"):
            if isinstance(term, dict) and term.get(field) not in (None, []):
                yield (_REQUIRED, index, field), "keeps pods of other namespaces off the nodes around it"


def _probe_host(value: Any, path: Path, around: Mapping[str, Any]) -> Iterator[_Told]:
    if value and path[-2:-1] and path[-2] in _PROBES:
        yield (), "lets the node's kubelet call an address of its choice"


def _annotations(value: Any, path: Path, around: Mapping[str, Any]) -> Iterator[_Told]:
    for key, text in value.items() if isinstance(value, dict) else ():
        if key.startswith(_APPARMOR) and text == "unconfined":
            yield (key,), "takes AppArmor off a container"


_NODES_NETWORK = "gives it the network of the node"
_FIELDS: Mapping[str, _Look] = {
    "adminAccess": _set("gives it devices that are in use by others"),
    "annotations": _annotations,
    "appArmorProfile": _profile,
    "capabilities": _capabilities,
    "host": _probe_host,
    "hostIPC": _set("gives it the memory that processes of the node share"),
    "hostNetwork": _set(_NODES_NETWORK),
    "hostPID": _set("gives it the processes of the node"),
    "hostPath": _host_path,
    "hostPort": _set("takes a port of the node"),
    "hostProcess": _set("runs it on the node itself"),
    "nodeName": _node_name,
    "podAntiAffinity": _anti_affinity,
    "privileged": _set("gives it the node"),
    "procMount": _proc_mount,
    "seLinuxOptions": _selinux,
    "seccompProfile": _profile,
    "sysctls": _sysctls,
    "tolerations": _tolerations,
}


def baseline(found: Anything) -> None:
    """Fields of pods beyond the baseline, wherever they stand."""
    if found.is_data:
        return
    hint = "remove it; its Tenant may say pods: Privileged"
    for path, mapping in found.mappings:
        for field in _FIELDS.keys() & mapping.keys():
            for below, what in _FIELDS[field](mapping[field], (*path, field), mapping):
                place = (*path, field, *below)
                found.tell("PrivilegedPod", f"{dotted(place)} {what}", hint, place, key=below == ())


RULES: tuple[ObjectRule, ...] = (baseline,)
