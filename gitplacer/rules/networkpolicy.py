"""
The network policies that KubeRay makes for a Ray cluster, and the rules that are added to them.

A rule opens what the mode closes. In a direction that the mode leaves open it would open nothing, and KubeRay refuses it.
The names of groups are judged in `workergroups`.
KubeRay itself opens the way between the pods of one Ray cluster, and nothing else: no DNS either, by which they find
their head.
Source: validateNetworkPolicy in ray-operator/controllers/ray/utils/validation.go, the CRD schema for the modes, and
NetworkPolicyRules in apis/ray/v1/raycluster_types.go for DNS and for whose rules count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gitplacer.documents import Cursor
from gitplacer.plaintext import few
from gitplacer.problems import nearest
from gitplacer.rules.manifest import RayManifest, Rule, tell

OPEN: Mapping[str, str] = {"DenyAll": "", "DenyAllIngress": "egress", "DenyAllEgress": "ingress"}
"""Each mode with the direction that it leaves open."""

_TOLD = 10
"""How many misspelt groups are told one by one: each is compared with all names."""


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
    strangers = [rules for rules in policy.items("workerGroups") if rules.text("groupName") not in names]
    for rules in strangers[:_TOLD]:
        name = rules.text("groupName")
        message = f'there is no worker group "{name}"'
        tell(rules, "InvalidNetworkPolicy", message, nearest(name, names - {""}), key="groupName")
    if more := strangers[_TOLD:]:
        message = f"{len(more)} more name worker groups that there are not"
        tell(more[0], "InvalidNetworkPolicy", message, "name groups of workerGroupSpecs", key="groupName")


def dns(manifest: RayManifest) -> None:
    """
    Ray pods look for their head by name; where egress is closed a rule must open port 53 over UDP, for the head and for
    every group. To whom it opens it, we do not judge.
    """
    if not manifest.v1 or not manifest.cluster.has("networkPolicy"):
        return
    policy = manifest.cluster.mapping("networkPolicy")
    mode = policy.text("mode") or "DenyAll"
    if mode not in OPEN or OPEN[mode] == "egress":
        return
    own = {rules.text("groupName"): rules for rules in policy.items("workerGroups")}
    shared = policy.mapping("worker")
    groups = [group.text("groupName") for group in manifest.groups]
    closed = [] if _opens_dns(policy.mapping("head")) else ["the head"]
    closed += [f'group "{name}"' for name in dict.fromkeys(groups) if not _opens_dns(own.get(name, shared))]
    if closed:
        message = f"the mode {mode} closes DNS, and no egress rule opens it for {few(closed)}"
        hint = "add egressRules with ports: [{protocol: UDP, port: 53}] under head and worker"
        tell(policy, "DNSClosed", message, hint, key="mode")


def _opens_dns(rules: Cursor) -> bool:
    return any(
        not rule.value.get("ports") or any(map(_is_dns, rule.items("ports"))) for rule in rules.items("egressRules")
    )


def _is_dns(port: Cursor) -> bool:
    """Whether it is, or holds, port 53 over UDP. What a named port is, only the pods know."""
    first, last = port.value.get("port"), port.value.get("endPort")
    if port.value.get("protocol") != "UDP":
        return False
    if not isinstance(first, int):
        return True
    return first <= 53 <= (last if isinstance(last, int) else first)


def _rules(policy: Cursor) -> Iterator[Cursor]:
    for key in ("head", "worker"):
        if policy.has(key):
            yield policy.mapping(key)
    yield from policy.items("workerGroups")


RULES: tuple[Rule, ...] = (network_policy, dns)
