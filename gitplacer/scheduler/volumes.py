"""
What the volumes of a gang make of a cluster: on which nodes its pods may be, and how many of them there.

kube-scheduler asks of each claim: is it bound, and can its volume be reached from the node; else, may its class make one for the
node, or is there one that it can take. That is put in words that the board knows: terms about nodes, and resources that a node
has so many of (volumes that wait there to be claimed, volumes that a driver can attach). What cannot be answered is one of three:
a refusal (the pod stays pending whatever happens), a doubt (nobody knows from where a volume that is yet to be made will be
reached, so there is no promise), or a note (kube-scheduler would not mind, and the pods may hang all the same).
Source: kubernetes 1.34 pkg/scheduler/framework/plugins: volumebinding, volumezone, volumerestrictions, nodevolumelimits.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from gitplacer.model.decision import Reason
from gitplacer.model.labels import Requirement
from gitplacer.model.podrules import PodTerm, Selector
from gitplacer.model.quantity import render
from gitplacer.model.resources import Resources
from gitplacer.model.workload import ClaimSpec, NodeTerm, PodVolumeClaim
from gitplacer.scheduler.capacities import reached
from gitplacer.scheduler.objects import Node, Pod
from gitplacer.scheduler.pools import Pool, contested, includes, joined, titles
from gitplacer.scheduler.reading import ClusterObjects
from gitplacer.scheduler.storage import (
    CLAIM,
    CLASS,
    ONE_NODE,
    ONE_POD,
    SHARED_MODES,
    VOLUME,
    ClaimKey,
    Reach,
    Storage,
    StorageClass,
    Volume,
    VolumeClaim,
    alternatives,
    reaches,
)

CLAIM_LABEL = "gitplacer.dev/claim"
"""Begins labels that no pod carries in a cluster; here they tell the pods that share a claim from others."""
ANY_NUMBER = 2**40
_NOT_LISTED = "how many volumes are attached to nodes already, as not all claims and volumes of the pods that run there are listed"


class Objection(Struct, frozen=True):
    """Something that volumes, or admission, have against a gang."""

    code: Reason
    message: str


class Settled(Struct, frozen=True, kw_only=True):
    """A cluster and a gang with what volumes ask, and what cannot be asked."""

    cluster: ClusterObjects
    gang: tuple[Pod, ...]
    refusals: tuple[Objection, ...] = ()
    doubts: tuple[Objection, ...] = ()
    unknown: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def settled(cluster: ClusterObjects, gang: Sequence[Pod], storage: Storage) -> Settled:
    """A gang on a cluster, its claims turned into what the scheduler's filters ask."""
    if not any(pod.claims for pod in gang):
        return Settled(cluster=cluster, gang=tuple(gang))
    return _Settling(cluster, gang, storage).all()


class _Asked(Struct):
    """What one set of claims asks of the pod that has them."""

    reach: list[tuple[NodeTerm, ...]] = field(default_factory=list)
    beside: dict[str, tuple[str, ...]] = field(default_factory=dict)
    pools: Counter[Pool] = field(default_factory=Counter)
    attached: dict[ClaimKey, str] = field(default_factory=dict)
    """The driver of each claim's volume, which is attached once, in however many places the pod mounts it."""


class _Settling:
    """One gang on one cluster."""

    def __init__(self, cluster: ClusterObjects, gang: Sequence[Pod], storage: Storage) -> None:
        self._cluster = cluster
        self._gang = gang
        self._storage = storage
        self._labels = {node.name: dict(node.labels) for node in cluster.nodes}
        self._taken = {claim.volume for claim in storage.claims.values()}
        self._users = Counter(key for pod in gang for key in {_key(pod, claim) for claim in pod.claims})
        self._running: dict[ClaimKey, set[str]] = defaultdict(set)
        for pod in cluster.pods:
            if not pod.finished and pod.node_name:
                for claim in pod.claims:
                    self._running[_key(pod, claim)].add(pod.node_name)
        self._refusals: dict[Objection, None] = {}
        self._doubts: dict[Objection, None] = {}
        self._unknown: dict[str, None] = {}
        self._notes: dict[str, None] = {}
        self._wanted: dict[ClaimKey, Pool] = {}
        """Volumes of which a claim takes one wherever its pods are, so that no node has so many of them."""
        self._to_make: dict[str, dict[ClaimKey, int]] = defaultdict(dict)
        """By class and claim the sizes of volumes that may have to be made where drivers tell how much they have left."""

    def all(self) -> Settled:
        asked = [self._of_pod(pod) for pod in self._gang]
        limited = {driver for per in self._storage.drivers.values() for driver, most in per.items() if most is not None}
        pools = sum((each.pools for each in asked), Counter[Pool]())
        named = titles(pools)
        wider = {one: [other for other in pools if includes(other, one)] for one in pools}
        pods = []
        for pod, each in zip(self._gang, asked, strict=True):
            more = Counter(_attached(driver) for driver in each.attached.values() if driver in limited)
            for pool, count in each.pools.items():
                for other in wider[pool]:
                    more[named[other]] += count
            pods.append(self._with(pod, each, Resources(more)))
        self._check_numbers(pools + Counter(self._wanted.values()))
        self._check_wanted(pools)
        for pool in pools:
            self._check(pool, sum(count for one, count in pools.items() if includes(pool, one)))
        self._check_contests(pools)
        self._check_capacities()
        attached = self._attached_already()
        if any(driver in limited for each in asked for driver in each.attached.values()) and None in attached:
            self._unknown[_NOT_LISTED] = None
        nodes = tuple(self._offering(node, pools, named, limited, attached) for node in self._cluster.nodes)
        return Settled(
            cluster=replace(self._cluster, nodes=nodes),
            gang=tuple(pods),
            refusals=tuple(self._refusals),
            doubts=tuple(self._doubts),
            unknown=tuple(self._unknown),
            notes=tuple(self._notes),
        )

    # -- claims ---------------------------------------------------------------------------------------------------

    def _of_pod(self, pod: Pod) -> _Asked:
        asked = _Asked()
        for claim in pod.claims:
            self._of_claim(_key(pod, claim), claim, asked)
        return asked

    def _of_claim(self, key: ClaimKey, claim: PodVolumeClaim, asked: _Asked) -> None:
        found = self._storage.claims.get(key)
        if found is None and claim.spec is not None:
            found = VolumeClaim(spec=claim.spec, new=True)
        if found is None:
            if self._storage.kinds & {CLAIM, VOLUME, CLASS}:
                self._refuse(Reason.MISSING_CLAIM, f"there is no PersistentVolumeClaim {_name(key)}")
            else:
                self._unknown[f"where the volume of claim {_name(key)} can be reached"] = None
            return
        if found.wrong:
            self._refuse(Reason.VOLUME_NOT_BOUND, f"claim {_name(key)} {found.wrong}")
            return
        if claim.of != "pod":
            self._share(key, found)
        if found.volume:
            self._of_bound(key, found, asked)
        elif found.spec.volume:
            self._of_prebound(key, found, asked)
        else:
            self._of_unbound(key, found, asked)

    def _share(self, key: ClaimKey, claim: VolumeClaim) -> None:
        """Claims of one pod or one node, where several pods have them."""
        modes, users, running = claim.spec.modes, self._users[key], self._running.get(key, set())
        if ONE_POD in modes and (users > 1 or running):
            who = f"a pod on {min(running)} has it" if running else f"{users} of the pods want it"
            self._refuse(Reason.VOLUME_IN_USE, f"claim {_name(key)} is for one pod ({ONE_POD}), and {who}")
        elif modes == (ONE_NODE,) and (users > 1 or running):
            self._notes[
                f"claim {_name(key)} is {ONE_NODE}: pods on other nodes than the one that has it will be placed and not start"
            ] = None

    def _of_bound(self, key: ClaimKey, claim: VolumeClaim, asked: _Asked) -> None:
        volume = self._storage.volumes.get(claim.volume)
        if volume is not None:
            self._of_volume(key, volume, asked)
        elif VOLUME in self._storage.kinds:
            self._refuse(
                Reason.VOLUME_NOT_BOUND,
                f"claim {_name(key)} is bound to PersistentVolume {claim.volume}, which is not there",
            )
        else:
            self._unknown[f"where PersistentVolume {claim.volume} of claim {_name(key)} can be reached"] = None

    def _of_prebound(self, key: ClaimKey, claim: VolumeClaim, asked: _Asked) -> None:
        """A new claim that names its volume gets it if nobody else has it; one that is not bound yet keeps its pod waiting."""
        volume = self._storage.volumes.get(claim.spec.volume)
        if not claim.new:
            self._refuse(Reason.VOLUME_NOT_BOUND, f"claim {_name(key)} is not bound to {claim.spec.volume} yet")
        elif volume is not None and self._may_have(key, claim, volume):
            self._of_volume(key, volume, asked)
        elif VOLUME in self._storage.kinds:
            why = (
                "is not there" if volume is None else "belongs to another claim" if volume.claim else "does not suit it"
            )
            self._refuse(
                Reason.VOLUME_NOT_BOUND,
                f"claim {_name(key)} asks for PersistentVolume {claim.spec.volume}, which {why}",
            )
        else:
            self._unknown[f"where PersistentVolume {claim.spec.volume} of claim {_name(key)} can be reached"] = None

    def _may_have(self, key: ClaimKey, claim: VolumeClaim, volume: Volume) -> bool:
        """Whether a new claim gets the volume that it names."""
        if volume.claim is not None:
            return volume.is_kept_for(key, claim.uid)
        named = claim.spec.storage_class
        wanted = self._storage.usual_class if named is None else named
        return volume.holds(claim.spec) and wanted in (None, volume.storage_class)

    def _of_volume(self, key: ClaimKey, volume: Volume, asked: _Asked) -> None:
        asked.reach.extend(volume.reach)
        self._attach(key, f"volume {volume.name}", volume.driver, asked)

    def _attach(self, key: ClaimKey, what: str, driver: str, asked: _Asked) -> None:
        """A volume counts for the driver that attaches it ('' is none); a shared one once on each node, and nobody here counts that."""
        if driver and self._users[key] <= 1 and key not in self._running:
            asked.attached[key] = driver
        elif self._is_limited(driver):
            message = f"{what} is shared, and how many volumes {driver} attaches to a node is limited"
            self._doubts[Objection(Reason.VOLUME_NOT_MADE_YET, message)] = None

    def _attach_any(self, key: ClaimKey, free: Iterable[Volume], storage_class: StorageClass, asked: _Asked) -> None:
        """
        The volume of a claim that has none: it counts as one that its class makes until it has it, and then for the driver of
        that which it was given.
        """
        made = storage_class.provisioner if storage_class.provisions else ""
        self._attach(key, f"the volume of claim {_name(key)}", made, asked)
        for driver in sorted({volume.driver for volume in free} - {made}):
            if self._is_limited(driver):
                message = f"the volume of claim {_name(key)} may be one that {driver} attaches, and how many it attaches to a node is limited"
                self._doubts[Objection(Reason.VOLUME_NOT_MADE_YET, message)] = None

    def _is_limited(self, driver: str) -> bool:
        return any(limits.get(driver) is not None for limits in self._storage.drivers.values())

    def _of_unbound(self, key: ClaimKey, claim: VolumeClaim, asked: _Asked) -> None:
        if CLASS not in self._storage.kinds:
            self._unknown[f"where the volume of claim {_name(key)} will be made: no StorageClass is known"] = None
            return
        found = self._class_of(key, claim.spec)
        if found is None:
            return
        if found.delayed and claim.node:
            self._of_chosen(key, claim.spec, claim.node, found, asked)
        elif found.delayed:
            self._of_delayed(key, claim, found, asked)
        elif claim.new:
            self._of_immediate(key, claim.spec, found, asked)
        else:
            self._refuse(Reason.VOLUME_NOT_BOUND, f"claim {_name(key)} is not bound yet, and waits for no pod")

    def _class_of(self, key: ClaimKey, spec: ClaimSpec) -> StorageClass | None:
        """That of a claim; without any a volume without class is looked for. None, with a refusal, if it is not there."""
        if spec.storage_class is None:
            return self._storage.default_class or StorageClass(name="")
        if not spec.storage_class:
            return StorageClass(name="")
        found = self._storage.classes.get(spec.storage_class)
        if found is None:
            message = f"claim {_name(key)} is of StorageClass {spec.storage_class}, which is not there"
            self._refuse(Reason.VOLUME_NOT_BOUND, message)
        return found

    # -- claims without a volume ----------------------------------------------------------------------------------

    def _of_chosen(self, key: ClaimKey, spec: ClaimSpec, node: str, storage_class: StorageClass, asked: _Asked) -> None:
        """A node was chosen for its pod, so that nothing but a volume that is made there will do; the class is asked once more whether it makes one."""
        if not storage_class.provisions:
            message = f"claim {_name(key)} is to be made on node {node}, and nothing makes volumes of class {storage_class.name}"
            self._refuse(Reason.VOLUME_NOT_BOUND, message)
            return
        if self._users[key] > 1:  # one of them goes there, and the others where the volume is reached then
            self._doubt(key, f"it is to be made on node {node}, and {self._users[key]} pods share it")
        else:
            asked.reach.append((NodeTerm(fields=(Requirement("metadata.name", "In", (node,)),)),))
        asked.reach.extend(self._made_on(key, spec, storage_class))
        self._attach_any(key, (), storage_class, asked)

    def _made_on(self, key: ClaimKey, spec: ClaimSpec, storage_class: StorageClass) -> Reach:
        """The nodes for which a class makes a volume for a claim; () is all of them."""
        name = storage_class.name
        if not self._asks_capacity(spec, storage_class):
            return storage_class.topologies
        if fitting := self._storage.capacities.large_enough(name, spec.size):
            self._to_make[name][key] = spec.size
            return (*storage_class.topologies, *reached(fitting))
        message = f"claim {_name(key)} asks for {render('storage', spec.size)}, and no CSIStorageCapacity of class {name} has so much left"
        self._refuse(Reason.VOLUME_NOT_BOUND, message)
        return storage_class.topologies

    def _asks_capacity(self, spec: ClaimSpec, storage_class: StorageClass) -> bool:
        """Whether the driver is asked how much it has left, before a class makes a volume for a claim."""
        capacities, name = self._storage.capacities, storage_class.name
        if capacities.may_be_asked(name):
            self._unknown[f"how much is left for volumes of class {name}: no CSIDriver is listed"] = None
        return bool(spec.size) and capacities.are_asked(storage_class.provisioner)

    def _check_capacities(self) -> None:
        """
        Each claim is held against what is left as if it came alone, by kube-scheduler too. Where some together may be too much for a place, the volumes
        of the last cannot be made there, and their pods are taken off it again.
        """
        for name, made in sorted(self._to_make.items()):
            sizes = made.values()
            if any(sum(sizes) > each.left for each in self._storage.capacities.large_enough(name, min(sizes))):
                message = f"{len(made)} volumes of class {name} are to be made, and some CSIStorageCapacity has too little left for all of them"
                self._doubts[Objection(Reason.VOLUME_NOT_MADE_YET, message)] = None

    def _of_delayed(self, key: ClaimKey, claim: VolumeClaim, storage_class: StorageClass, asked: _Asked) -> None:
        """The volume is taken, or made, where the first pod is."""
        kept = (v for v in self._storage.volumes.values() if v.is_kept_for(key, claim.uid) and v.holds(claim.spec))
        own = next(kept, None)
        if own is not None:
            self._of_volume(key, own, asked)
            return
        free = self._candidates(claim.spec, storage_class)
        shared = self._users[key] > 1
        self._attach_any(key, free, storage_class, asked)
        if storage_class.provisions and not free:
            asked.reach.extend(self._made_on(key, claim.spec, storage_class))
        elif not shared:
            made_on = storage_class.topologies if storage_class.provisions else None
            if made_on is not None and self._asks_capacity(claim.spec, storage_class):
                self._doubt(
                    key,
                    f"it may be one that waits, or be made where class {storage_class.name} has enough left",
                )
            asked.pools[Pool(frozenset(v.name for v in free), storage_class.name, made_on)] += 1
        elif storage_class.provisions and any(len(self._from(v.affinity)) < len(self._labels) for v in free):
            self._doubt(key, "it may be one that waits, or be made")
            return
        else:
            self._of_any(key, free, storage_class, asked)
            return
        if shared:
            self._together(key, claim.spec, storage_class, asked)

    def _together(self, key: ClaimKey, spec: ClaimSpec, storage_class: StorageClass, asked: _Asked) -> None:
        """Once the first pod is placed the volume is made there, and others have to be where it is reached."""
        keys = self._storage.topology_keys.get(storage_class.provisioner)
        if keys is not None:
            asked.beside[f"{CLAIM_LABEL}/{key[0]}/{key[1]}"] = keys
        elif not set(spec.modes) & set(SHARED_MODES):
            self._doubt(key, f"{self._users[key]} pods share it")

    def _of_immediate(self, key: ClaimKey, spec: ClaimSpec, storage_class: StorageClass, asked: _Asked) -> None:
        """The volume is taken, or made, as soon as the claim is there, without a look at pods."""
        free = self._candidates(spec, storage_class)
        self._attach_any(key, free, storage_class, asked)
        if free or not storage_class.provisions:
            self._of_any(key, free, storage_class, asked)
            return
        asked.reach.extend(storage_class.topologies)
        keys = self._storage.topology_keys.get(storage_class.provisioner)
        if keys is None:
            certain = bool(set(spec.modes) & set(SHARED_MODES))
        else:
            able = [labels for name, labels in self._labels.items() if reaches(storage_class.topologies, labels, name)]
            certain = all(len({labels.get(each) for labels in able}) <= 1 for each in keys)
        if not certain:
            self._doubt(key, f"class {storage_class.name} makes it without a look at its pod")

    def _of_any(self, key: ClaimKey, free: Sequence[Volume], storage_class: StorageClass, asked: _Asked) -> None:
        """One of some volumes, and nobody says which."""
        if not free:
            what = f"of class {storage_class.name}" if storage_class.name else "without a class"
            self._refuse(Reason.VOLUME_NOT_BOUND, f"claim {_name(key)} finds no volume {what} that it can take")
            return
        made_on = storage_class.topologies if storage_class.provisions else None
        self._wanted[key] = Pool(frozenset(volume.name for volume in free), storage_class.name, made_on)
        if all(volume.reach for volume in free):  # one that is reached from everywhere asks for nothing
            asked.reach.append(tuple(dict.fromkeys(term for each in free for term in alternatives(each.reach))))
        if len({self._from(volume.reach) for volume in free}) > 1:
            self._doubt(key, f"it may be any of {len(free)} volumes")

    def _candidates(self, spec: ClaimSpec, storage_class: StorageClass) -> list[Volume]:
        volumes = self._storage.volumes.values()
        return [each for each in volumes if each.suits(spec, storage_class.name) and each.name not in self._taken]

    def _from(self, reach: Reach) -> frozenset[str]:
        """The nodes from which a volume is reached."""
        return frozenset(name for name, labels in self._labels.items() if reaches(reach, labels, name))

    # -- pools ----------------------------------------------------------------------------------------------------

    def _check_numbers(self, pools: Mapping[Pool, int]) -> None:
        """Claims for which nothing is made need a volume each."""
        alone = [(pool, sum(n for one, n in pools.items() if includes(pool, one))) for pool in pools]
        for pool, demand in (*alone, *joined(pools)):
            if pool.made_on is None and len(pool.names) < demand:
                self._refuse(
                    Reason.VOLUME_NOT_BOUND,
                    f"{demand} claims of class {pool.storage_class} need a volume each, and {len(pool.names)} can be taken",
                )

    def _check_wanted(self, pools: Mapping[Pool, int]) -> None:
        """Claims that take one of some volumes wherever their pods are, where others may take it first. Volumes that are reached from the same nodes are all one."""
        for key, pool in self._wanted.items():
            others = [*pools, *(other for name, other in self._wanted.items() if name != key)]
            names = pool.names.union(*(other.names for other in others if other.names & pool.names))
            reached = {self._from(self._storage.volumes[name].reach) for name in names}
            if any(other.names & pool.names for other in others) and (pool.made_on is not None or len(reached) > 1):
                self._doubt(key, "others may be given the one that it would have")

    def _check_contests(self, pools: Mapping[Pool, int]) -> None:
        """Volumes that some claims need, and that others may be given though there are more for these."""
        waiting = [self._storage.volumes[name] for name in frozenset[str]().union(*(pool.names for pool in pools))]
        reached = {
            node: frozenset(volume.name for volume in waiting if reaches(volume.affinity, labels, node))
            for node, labels in (self._labels.items() if len(pools) > 1 else ())
        }
        for pool in contested(pools, self._storage.volumes, reached):
            message = f"claims that could have other volumes of class {pool.storage_class} may be given those that some claims need"
            self._doubts[Objection(Reason.VOLUME_NOT_MADE_YET, message)] = None

    def _check(self, pool: Pool, demand: int) -> None:
        """
        A pool's volumes are counted on each node that reaches them. That is exact where each is reached from one node, or there
        are enough of each sort for all claims; else some are counted more than once, and there is no promise.
        """
        if pool.is_endless:
            return
        volumes = [self._storage.volumes[name] for name in sorted(pool.names)]
        sorts = Counter(self._from(volume.affinity) for volume in volumes)
        apart = sum(len(nodes) for nodes in sorts) == len(frozenset[str]().union(*sorts))
        if not apart or any(len(nodes) > 1 and count < demand for nodes, count in sorts.items()):
            message = f"volumes of class {pool.storage_class} are reached from several nodes, and not all claims can have one of each sort"
            self._doubts[Objection(Reason.VOLUME_NOT_MADE_YET, message)] = None

    def _offering(
        self,
        node: Node,
        pools: Mapping[Pool, int],
        named: Mapping[Pool, str],
        limited: set[str],
        attached: Mapping[str | None, Counter[str]],
    ) -> Node:
        """A node with the volumes that wait there, and those that its drivers can attach and have `attached`."""
        labels = self._labels[node.name]
        offered, used = {}, {}
        for pool in pools:
            here = pool.made_on is not None and reaches(pool.made_on, labels, node.name)
            names = [name for name in pool.names if reaches(self._storage.volumes[name].affinity, labels, node.name)]
            offered[named[pool]] = ANY_NUMBER if here else len(names)
        for driver in sorted(limited):
            most = self._storage.drivers.get(node.name, {}).get(driver)
            offered[_attached(driver)] = ANY_NUMBER if most is None else most
            used[_attached(driver)] = attached[driver][node.name] if driver in attached else 0
        return replace(node, allocatable=node.allocatable + offered, used=node.used + used)

    def _attached_already(self) -> Mapping[str | None, Counter[str]]:
        """
        By driver how many volumes are attached to each node; under None those of which nobody knows the driver. Beside those of pods that run it is what
        is attached still, or already, without one.
        """
        found: dict[str | None, Counter[str]] = defaultdict(Counter)
        of_pods: set[tuple[str, str]] = set()
        for key, nodes in self._running.items():
            found[self._attached_by(key)].update(nodes)
            if (claim := self._storage.claims.get(key)) is not None:
                of_pods |= {(node, claim.volume) for node in nodes}
        for node, driver, volume in self._storage.attachments:
            if volume and (node, volume) not in of_pods:
                found[driver][node] += 1
        return found

    def _attached_by(self, key: ClaimKey) -> str | None:
        """
        The driver of a claim's volume as kube-scheduler looks for it: '' for none; that of the class where the volume is not there; None where the
        claim, or both of these, were not asked for.
        """
        claim = self._storage.claims.get(key)
        if claim is None:
            return "" if CLAIM in self._storage.kinds else None
        volume = self._storage.volumes.get(claim.volume)
        if volume is not None:
            return volume.driver
        known = self._storage.classes.get(claim.spec.storage_class or "")
        if known is not None:
            return known.provisioner
        return "" if VOLUME in self._storage.kinds else None

    # -- what comes of it -----------------------------------------------------------------------------------------

    def _with(self, pod: Pod, asked: _Asked, more: Resources) -> Pod:
        """The pod without claims, and with what they ask."""
        terms = tuple(
            PodTerm(topology, Selector((Requirement(label, "Exists"),)), namespaces=(pod.namespace,), by_itself=True)
            for label, keys in asked.beside.items()
            for topology in keys
        )
        return replace(
            pod,
            claims=(),
            labels=tuple(sorted((*pod.labels, *((label, "") for label in asked.beside)))),
            requests=pod.requests + more,
            volume_nodes=(*pod.volume_nodes, *dict.fromkeys(asked.reach)),
            pod_affinity=(*pod.pod_affinity, *terms),
        )

    def _refuse(self, code: Reason, message: str) -> None:
        self._refusals[Objection(code, message)] = None

    def _doubt(self, key: ClaimKey, why: str) -> None:
        message = f"nobody knows yet from which nodes the volume of claim {_name(key)} will be reached: {why}"
        self._doubts[Objection(Reason.VOLUME_NOT_MADE_YET, message)] = None


def _key(pod: Pod, claim: PodVolumeClaim) -> ClaimKey:
    return pod.namespace, claim.name


def _name(key: ClaimKey) -> str:
    return "/".join(key)


def _attached(driver: str) -> str:
    return f"volumes attached by {driver}"
