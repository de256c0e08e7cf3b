"""
A proof that gangs find room on a cluster whose pods have rules about none but themselves (`ownrules`), beside each other and beside pods without rules.

Where each keeps the others off its node, a node has one place for them at most. Where they are spread, the domain that has the fewest may always take the
next one; so it is enough if each domain surely has room for as many as may ever come to be in one. Where they stay together the first goes to any domain that takes
it; so it is enough if each of these surely has room for all. That these are sure in a domain is proved as it is of pods that mind nothing but room, as if
all others came to it.
Source: kubernetes 1.34 pkg/scheduler/framework/plugins/podtopologyspread (filtering.go) and interpodaffinity (filtering.go).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from gitplacer.model.podrules import SpreadConstraint
from gitplacer.model.workload import Gang, PodSet, PodShape, Roster
from gitplacer.placement.arrivals import Arrivals
from gitplacer.placement.ownrules import Kind, Own, kind_of, one_of, own_rules, regards
from gitplacer.placement.pack import Room
from gitplacer.placement.shapecrowd import ShapeCrowd, known_of
from gitplacer.scheduler import Pod
from gitplacer.scheduler.crowding import capacity
from gitplacer.scheduler.neighbours import may_keep_off
from gitplacer.scheduler.objects import HOSTNAME
from gitplacer.scheduler.site import Site


class OwnProofs:
    """Those of one cluster, of which `site` is what the scheduler finds there, and `room` what is free; rows of both are the same nodes."""

    def __init__(self, site: Site, room: Room) -> None:
        self._site = site
        self._room = room
        self._living = Living(site)
        self._crowds: dict[tuple[str, int], ShapeCrowd] = {}
        """Of the nodes that are in one domain, by its label and number, and of all."""
        self._domains_of: dict[PodShape, tuple[int, ...] | None] = {}

    def sure(self, gang: Gang, coming: Arrivals) -> bool:
        """
        Whether every pod of a gang, and of those that are coming and must not be left out, is sure to find a node. They all keep to themselves (see
        `Arrivals.keep_to_themselves`).
        """
        every = [each for some in (gang, *coming.minded) for each in own_rules(some) or ()]
        if any(each.pod.pod_anti_affinity for each in every) and not self._living.tells_nodes_apart:
            return False
        if any(self._living.mind(pods) for each in (gang, *coming.minded) for pods in each if pods.count):
            return False
        present, most = Roster.of(gang).present, known_of(coming)
        if not self._crowd(("", 0), most).sure(present, coming.table, False):
            return False
        regional: dict[str, list[Own]] = defaultdict(list)
        for each in every:
            if each.region:
                regional[each.key].append(each)
        return all(self._surely_in_each(key, some, present, coming) for key, some in regional.items())

    def _surely_in_each(self, key: str, some: Sequence[Own], present: Mapping[PodShape, int], coming: Arrivals) -> bool:
        """
        Whether each domain by a label that may have to take some pods surely has room for as many as may ever be in one. Others may all come to any.
        """
        here: dict[int, dict[PodShape, int]] = defaultdict(dict)
        for own in some:
            domains = self._domains(own)
            if not domains:
                return False
            for number in domains:
                here[number][own.shape] = own.most_in_one(len(domains))
        crowds = ((self._crowd((key, number), known_of(coming)), most) for number, most in here.items())
        return all(crowd.hold(present, coming.table, most) for crowd, most in crowds)

    def _domains(self, own: Own) -> tuple[int, ...] | None:
        """The domains, by number, that count for pods which are spread, or that may take the first of those that stay together; None if they are too few."""
        shape, region = own.shape, own.region
        if shape not in self._domains_of:
            site = self._site
            of, _ = site.topology.of(own.key)
            if isinstance(region, SpreadConstraint):
                counts = site.counted(own.pod, region.honours_affinity, region.honours_taints)
                found = np.unique(of[counts & (of >= 0)])
            else:
                takes = capacity(self._room.free, self._room.nodes.columns.asked(shape), self._room.admits(shape)) > 0
                found = np.unique(of[takes & (of >= 0)])
            few = isinstance(region, SpreadConstraint) and len(found) < region.min_domains
            self._domains_of[shape] = None if few else tuple(found.tolist())
        return self._domains_of[shape]

    def _crowd(self, where: tuple[str, int], most: int) -> ShapeCrowd:
        """Of the nodes in one domain by a label, or of all by ''."""
        crowd = self._crowds.get(where)
        if crowd is None or len(crowd) > most:
            key, number = where
            rows = np.flatnonzero(self._site.topology.of(key)[0] == number) if key else None
            crowd = self._crowds[where] = ShapeCrowd(self._room, rows, own=True)
        return crowd


class Living:
    """The pods that run on a cluster, for who asks whether rules have to do with them."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._by_namespace: dict[str, list[Pod]] = defaultdict(list)
        self._with_ports: list[Pod] = []
        self._repelling: list[Pod] = []
        for _, pod in site.placed:
            self._by_namespace[pod.namespace].append(pod)
            if pod.ports:
                self._with_ports.append(pod)
            if pod.pod_anti_affinity:
                self._repelling.append(pod)
        self._known: dict[Kind, bool] = {}
        of, domains = site.topology.of(HOSTNAME)
        self.tells_nodes_apart = domains == len(site.nodes) and bool((of >= 0).all())
        """Whether each node is a domain by its hostname, as it is in a real cluster."""

    def mind(self, pods: PodSet) -> bool:
        """Whether what runs keeps some pods off a node, or a rule of theirs may be about it."""
        key = kind_of(pods)
        if key not in self._known:
            self._known[key] = self._minds(one_of(*key))
        return self._known[key]

    def _minds(self, pod: Pod) -> bool:
        if any(
            may_keep_off(term, pod, self._site.namespaces)
            for other in self._repelling
            for term in other.pod_anti_affinity
        ):
            return True
        own = Own(pod, PodShape(), 1)
        namespaces = {pod.namespace}.union(*(term.namespaces for term in (*pod.pod_affinity, *pod.pod_anti_affinity)))
        looked_at = [other for namespace in namespaces for other in self._by_namespace.get(namespace, ())]
        return any(regards(own, other) for other in (*looked_at, *self._with_ports))
