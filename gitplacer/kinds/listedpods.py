"""Pods in a CapacitySnapshot that others have to mind, and the namespaces that their rules speak of."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gitplacer.kinds.fields import Boolean, DnsLabel, Integer, Model
from gitplacer.kinds.selectors import LabelSelector
from gitplacer.model.podrules import NOTHING_SELECTED, HostPort, PodTerm, Selector


def _selector(written: LabelSelector | None) -> Selector:
    return NOTHING_SELECTED if written is None else Selector(written.requirements())


class AntiAffinityTerm(Model):
    """A term of required pod anti-affinity, as it stands in the pod."""

    topology_key: Annotated[str, Field(min_length=1)]
    """The label of nodes whose values are the domains."""
    label_selector: LabelSelector | None = None
    """Which pods it keeps away; absent means none."""
    namespaces: tuple[str, ...] = ()
    """Their namespaces; none at all, and no `namespaceSelector`, means that of the pod."""
    namespace_selector: LabelSelector | None = None
    """Or the labels of their namespaces."""

    def term(self) -> PodTerm:
        return PodTerm(
            self.topology_key,
            _selector(self.label_selector),
            tuple(sorted(set(self.namespaces))),
            _selector(self.namespace_selector),
            own_namespace=not self.namespaces and self.namespace_selector is None,
        )


class TakenPort(Model):
    """A port that a pod has of its node."""

    port: Annotated[Integer, Field(ge=1, le=65535)]
    """Its number."""
    protocol: Literal["TCP", "UDP", "SCTP"] = "TCP"
    """Its protocol."""
    ip: str = "0.0.0.0"
    """The address that it is bound to; 0.0.0.0 is every one."""


class ListedPod(Model):
    """A pod that is not of `groups` and that others have to mind, or may ask for. What it uses is in `used`."""

    namespace: DnsLabel = "default"
    """Its namespace."""
    labels: dict[str, str] = {}
    """Its labels, which rules of other pods go by."""
    anti_affinity: tuple[AntiAffinityTerm, ...] = ()
    """Which pods it keeps away from its topology domain."""
    host_ports: tuple[TakenPort, ...] = ()
    """The ports that it has of its node."""
    terminating: Boolean = False
    """Whether it is being deleted. Until it is gone it keeps its room and keeps others away, and topology spread does not count it."""

    def terms(self) -> tuple[PodTerm, ...]:
        """Its anti-affinity, as it has it in its namespace."""
        labels = tuple(sorted(self.labels.items()))
        return tuple(each.term().of(self.namespace, labels) for each in self.anti_affinity)

    def ports(self) -> tuple[HostPort, ...]:
        return tuple(HostPort(each.port, each.protocol, each.ip) for each in self.host_ports)


class NamespaceLabels(Model):
    """A namespace of the cluster."""

    name: DnsLabel
    """Its name."""
    labels: dict[str, str] = {}
    """Its labels."""
