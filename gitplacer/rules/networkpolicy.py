"""
The network policies that KubeRay makes for a Ray cluster, and the rules that are added to them.

A rule opens what the mode closes. In a direction that the mode leaves open it would open nothing, and KubeRay refuses it.
The names of groups are judged in `workergroups`.
Source: validateNetworkPolicy in ray-operator/controllers/ray/utils/validation.go, and the CRD schema for the modes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gitplacer.documents import Cursor
from gitplacer.problems import nearest
from gitplacer.rules.manifest import RayManifest, Rule, tell

OPEN: Mapping[str, str] = {"DenyAll": "", "DenyAllIngress": "egress", "DenyAllEgress": "ingress"}
"""Each mode with the direction that it leaves open."""


def network_policy(manifest: RayManifest) -> None:
    """Rules are for directions that the mode closes, and for groups that exist."""
    if not manifest.v1 or not manifest.cluster.has("networkPolicy"):
        return
    policy = manifest.cluster.mapping("networkPolicy")
    mode = policy.text("mode") or "DenyAll"
    if mode not in OPEN:
        tell(policy, "InvalidNetworkPolicy", f'unknown mode "{mode}"', nearest(mode, OPEN), key="mode")
    is_open = OPEN.get(mode)
    for rules in _rules(policy):
        key = f"{is_open}Rules"
        if is_open and rules.value.get(key):
            message = f"the mode {mode} leaves {is_open} open, so {key} would open nothing"
            tell(rules, "InvalidNetworkPolicy", message, "remove the rules, or use mode: DenyAll", key=key)
    names = {group.text("groupName") for group in manifest.groups}
    for rules in policy.items("workerGroups"):
        name = rules.text("groupName")
        if name not in names:
            message = f'there is no worker group "{name}"'
            tell(rules, "InvalidNetworkPolicy", message, nearest(name, names - {""}), key="groupName")


def _rules(policy: Cursor) -> Iterator[Cursor]:
    for key in ("head", "worker"):
        if policy.has(key):
            yield policy.mapping(key)
    yield from policy.items("workerGroups")


RULES: tuple[Rule, ...] = (network_policy,)
