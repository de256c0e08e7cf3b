"""The kinds PlacementPolicy and OverridePolicy: what goes where, and what differs there."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from gitplacer.kinds.dispatch import Dispatch, MultiKueue
from gitplacer.kinds.fields import (
    Boolean,
    Copies,
    DnsLabel,
    Integer,
    LabelKey,
    Model,
    OwnKind,
    Period,
    Price,
    Seconds,
    first_twice,
)
from gitplacer.kinds.scores import ScoreTerm
from gitplacer.kinds.selectors import ClusterSelector, Metadata, ObjectSelector, Override, TolerationField
from gitplacer.kinds.spread import TopologySpreads
from gitplacer.model.labels import Toleration

Weight = Annotated[Integer, Field(ge=0, le=1_000_000)]


def _all_three(value: tuple[str, ...]) -> tuple[str, ...]:
    if sorted(value) != ["Free", "ScaleUp", "Span"]:
        raise ValueError("must name each of Free, ScaleUp and Span once")
    return value


Preferences = Annotated[
    tuple[Literal["Free", "ScaleUp", "Span"], ...],
    Field(min_length=3, max_length=3, json_schema_extra={"uniqueItems": True}),
    AfterValidator(_all_three),
]


class GroupBy(Model):
    """What joins the objects a policy governs into one group. Exactly one of the three."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": ["label"]},
                {"properties": {"directory": {"const": True}}, "required": ["directory"]},
                {"properties": {"namespace": {"const": True}}, "required": ["namespace"]},
            ]
        }
    )

    label: LabelKey | None = None
    """Objects of one namespace with the same value of this label."""
    directory: Boolean = False
    """Objects of one namespace in the same directory of the source."""
    namespace: Boolean = False
    """All objects of one namespace."""

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.label is not None) + self.directory + self.namespace != 1:
            raise ValueError("give exactly one of label, directory: true, namespace: true")
        return self


class PlacementSettings(Model):
    """How clusters are chosen among the eligible ones."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"type": {"const": "Ordered"}}, "required": ["type"]},
            "then": {"properties": {"order": {"minItems": 1}}, "required": ["order"]},
            "else": {"properties": {"order": {"maxItems": 0}}},
            "allOf": [
                {
                    "if": {"properties": {"type": {"const": "Scored"}}, "required": ["type"]},
                    "then": {"properties": {"scores": {"minItems": 1}}, "required": ["scores"]},
                    "else": {"properties": {"scores": {"maxItems": 0}}},
                },
                {
                    "if": {"properties": {"span": {"const": "IfNeeded"}}, "required": ["span"]},
                    "then": {
                        "properties": {
                            "copies": {"const": 1},
                            "type": {"not": {"const": "Divide"}},
                            "admission": {"const": "Gang"},
                            "reserve": {"const": "Desired"},
                        }
                    },
                },
                {
                    "if": {"required": ["weights"], "properties": {"weights": {"minProperties": 1}}},
                    "then": {
                        "properties": {
                            "type": {"const": "Divide"},
                            "weights": {"not": {"additionalProperties": {"const": 0}}},
                        },
                        "required": ["type"],
                    },
                },
                {
                    "if": {"properties": {"divideBy": {"enum": ["Room", "FewestClusters"]}}, "required": ["divideBy"]},
                    "then": {
                        "properties": {"type": {"const": "Divide"}, "weights": {"maxProperties": 0}},
                        "required": ["type"],
                    },
                },
                {
                    "if": {"required": ["topologySpread"], "properties": {"topologySpread": {"minItems": 1}}},
                    "then": {"properties": {"copies": {"type": "integer", "minimum": 2}}, "required": ["copies"]},
                },
                {
                    "if": {"required": ["dispatch"]},
                    "then": {
                        "properties": {
                            "type": {"enum": ["Capacity", "Ordered"]},
                            "copies": {"const": 1},
                            "admission": {"const": "Gang"},
                            "span": {"const": "Never"},
                        }
                    },
                },
            ],
        }
    )

    type: Literal["Capacity", "Cheapest", "Divide", "Ordered", "Scored"] = "Capacity"
    """Capacity takes any cluster with room, Ordered the first with room in the order given, Cheapest the one where the machines
    that must be added cost least, Scored the one with the highest sum of weighted scores. Divide puts a group on every eligible cluster and
    divides its replicas over them."""
    order: tuple[ClusterSelector, ...] = ()
    """Ordered: which clusters, best first."""
    scores: Annotated[tuple[ScoreTerm, ...], Field(max_length=20)] = ()
    """Scored: which scores count, and how much each. They order clusters when something is placed; what runs is not moved for them."""
    weights: dict[DnsLabel, Weight] = {}
    """Divide: in what proportion clusters share the replicas, by name; percentages will do. A cluster that is not named gets
    none. Without weights all eligible clusters share alike."""
    divide_by: Literal["Weights", "Room", "FewestClusters"] = "Weights"
    """Divide: who gets replicas that come. Weights gives each cluster what its weight says, Room in proportion to how many more it has
    room for, FewestClusters all to the one with most room, and to the next what is left. With Room and FewestClusters a
    replica that is placed stays where it is."""
    copies: Copies = 1
    """How many clusters get a copy; All means every eligible one. With Divide, how many share the replicas, the heaviest first;
    absent means All."""
    topology_spread: TopologySpreads = ()
    """How the copies are spread over the values of cluster labels, such as regions or providers; each label once, and all must hold.
    Needs `copies` to be a number of 2 or more."""
    admission: Literal["Gang", "Immediate"] = "Gang"
    """Gang places a group when all its pods fit; Immediate places it whatever the room."""
    accept: Literal["Fits", "TightFit"] = "Fits"
    """Fits takes a cluster only if all pods find a node there in every order that was tried; TightFit also one where that takes
    luck, but never at the cost of a group whose policy says Fits. Where the cluster's profile declares a gang scheduler, a tight
    fit is good enough."""
    reserve: Literal["Desired", "Minimum", "Maximum"] = "Desired"
    """How many workers of an autoscaling Ray cluster find room: as many as its replicas say, as it may shrink to, or as it
    may grow to. A RayJob never takes less than Desired, because it starts with all of them."""
    scale_up: Literal["IfNeeded", "Never"] = "IfNeeded"
    """Whether nodes that an autoscaler can add may be counted on."""
    span: Literal["Never", "IfNeeded"] = "Never"
    """Whether a Ray app that no single cluster takes may have its head on one and workers on others of the same mesh. Needs
    `copies: 1`, `admission: Gang` and `reserve: Desired`."""
    prefer: Preferences = ("Free", "ScaleUp", "Span")
    """What is tried in which order: room that is free on one cluster, machines that can be added to one, several clusters of a
    mesh. All three, each once."""
    dispatch: Dispatch | None = None
    """Who chooses among the clusters that the policy allows, if not gitplacer. It then promises no room; it nominates clusters, in the
    policy's order. Needs `type` Capacity or Ordered, `copies: 1`, `admission: Gang` and `span: Never`."""

    @model_validator(mode="after")
    def _one_whole_copy_is_dispatched(self) -> Self:
        if self.dispatch is not None:
            wrong = [] if self.type in ("Capacity", "Ordered") else ["type: Capacity or Ordered"]
            wrong += ["copies: 1"] if self.copies != 1 else []
            wrong += ["admission: Gang"] if self.admission != "Gang" else []
            wrong += ["span: Never"] if self.span != "Never" else []
            if wrong:
                raise ValueError(f"dispatch needs {' and '.join(wrong)}")
        return self

    @property
    def multi_kueue(self) -> MultiKueue | None:
        """To whose Kueue it is left where what the policy governs starts."""
        return self.dispatch.multi_kueue if self.dispatch is not None else None

    @model_validator(mode="after")
    def _spanning_needs_one_whole_copy(self) -> Self:
        if self.span == "IfNeeded":
            needed = {
                "copies": (self.copies, 1),
                "admission": (self.admission, "Gang"),
                "reserve": (self.reserve, "Desired"),
            }
            wrong = [f"{name}: {right}" for name, (found, right) in needed.items() if found != right]
            if self.type == "Divide":
                wrong.append("another type than Divide")
            if wrong:
                raise ValueError(f"span: IfNeeded needs {' and '.join(wrong)}")
        return self

    @model_validator(mode="after")
    def _order_belongs_to_ordered(self) -> Self:
        if (self.type == "Ordered") != bool(self.order):
            raise ValueError("type Ordered needs order" if self.type == "Ordered" else "order is for type Ordered")
        return self

    @model_validator(mode="after")
    def _scores_belong_to_scored(self) -> Self:
        if (self.type == "Scored") != bool(self.scores):
            raise ValueError("type Scored needs scores" if self.type == "Scored" else "scores is for type Scored")
        titles = [term.title for term in self.scores]
        twice = first_twice(titles)
        if twice is not None:
            raise ValueError(f"score {twice} is weighed twice: give it one weight")
        return self

    @model_validator(mode="after")
    def _weights_belong_to_divide(self) -> Self:
        if self.weights and self.type != "Divide":
            raise ValueError("weights is for type Divide")
        if self.weights and not any(self.weights.values()):
            raise ValueError("some cluster needs a weight above 0")
        if self.divides_by_room and self.type != "Divide":
            raise ValueError(f"divideBy: {self.divide_by} is for type Divide")
        if self.divides_by_room and self.weights:
            raise ValueError(f"weights are for divideBy: Weights; {self.divide_by} looks at what room there is")
        return self

    @model_validator(mode="after")
    def _spread_needs_copies(self) -> Self:
        copies = 0 if self.copies == "All" else self.copies
        if self.topology_spread and copies < 2:
            raise ValueError("topologySpread needs copies: a number of 2 or more")
        for spread in self.topology_spread:
            if (spread.min_domains or 0) > copies:
                raise ValueError(
                    f"minDomains {spread.min_domains} of {spread.topology_key} is more than there are copies ({copies})"
                )
        return self

    @property
    def divides_by_room(self) -> bool:
        """Divide: whether it follows what room there is who gets what comes."""
        return self.divide_by != "Weights"

    @property
    def shared_by(self) -> int | None:
        """Divide: over how many clusters at most; None for all."""
        return self.copies if "copies" in self.model_fields_set and self.copies != "All" else None


Mode = Literal["Automatic", "Manual", "Never"]


class RelocationTriggers(Model):
    """For each reason to move: Automatic moves, Manual proposes and waits for an Approval, Never stays."""

    not_eligible: Annotated[Mode, Field(alias="NotEligible")] = "Automatic"
    """The cluster is no longer one the policy allows."""
    cluster_draining: Annotated[Mode, Field(alias="ClusterDraining")] = "Automatic"
    """The cluster's state is Draining."""
    cluster_lost: Annotated[Mode, Field(alias="ClusterLost")] = "Automatic"
    """The cluster's state is Lost, or it was silent for longer than the Fleet's `lostAfter`, or it is gone from the source."""
    pending_pods: Annotated[Mode, Field(alias="PendingPods")] = "Automatic"
    """Pods of the group have been pending for `pendingFor`. Never applies to `admission: Immediate`, nor to
    copies that are wanted on every cluster (`copies: All`)."""
    preferred_available: Annotated[Mode, Field(alias="PreferredAvailable")] = "Never"
    """A cluster that the policy's order names earlier has room. Needs `type: Ordered`."""


class SurgeSettings(Model):
    """How a surge goes on after the new copy was added."""

    timeout: Period = 1800
    """How long the new copy may take to become ready. After that it is taken back."""
    soak: Seconds = 0
    """How long the new copy has to be seen ready before the old one goes."""
    approval: Literal["None", "Required"] = "None"
    """Whether an Approval with `action: Remove` is needed before the old copy goes."""


class RelocationSettings(Model):
    """When a placed group moves, and how."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [
                {
                    "if": {"required": ["surge"]},
                    "then": {"properties": {"strategy": {"const": "Surge"}}, "required": ["strategy"]},
                },
                {
                    "if": {"required": ["pendingFor"]},
                    "then": {
                        "properties": {"when": {"properties": {"PendingPods": {"enum": ["Automatic", "Manual"]}}}}
                    },
                },
            ]
        }
    )

    when: RelocationTriggers = RelocationTriggers()
    """For each reason to move: Automatic, Manual or Never."""
    pending_for: Seconds = 900
    """How long pods must have been pending before their group moves. The clock stops while nodes come."""
    cooldown: Seconds = 1800
    """How long a group stays where it is after a relocation, whatever its pods or other clusters do. What somebody has written down
    is not held back: drains, losses, edits of policies and labels, approved moves."""
    strategy: Literal["Recreate", "Surge", "RemoveFirst"] = "Recreate"
    """Recreate moves the files in one commit; Surge adds the new copy, waits until it is ready and removes the old one; RemoveFirst
    removes the old copy, waits until it is gone and adds the new one. What must not run twice always moves by RemoveFirst."""
    surge: SurgeSettings = SurgeSettings()
    """How a surge goes on."""
    running_jobs: Literal["Never", "Restart"] = "Never"
    """Whether what may have started, and must not run twice, is moved: it starts from the beginning."""
    finished_jobs: Literal["Keep", "Remove"] = "Keep"
    """Whether the files of a job that has run to its end stay on its cluster. From a cluster that is left they always go."""

    @model_validator(mode="after")
    def _surge_belongs_to_surge(self) -> Self:
        if "surge" in self.model_fields_set and self.strategy != "Surge":
            raise ValueError(f"surge is for strategy Surge, not {self.strategy}")
        return self

    @model_validator(mode="after")
    def _a_clock_needs_its_trigger(self) -> Self:
        if "pending_for" in self.model_fields_set and self.when.pending_pods == "Never":
            raise ValueError("pendingFor has no meaning with when.PendingPods: Never")
        return self


class UpdateSettings(Model):
    """What happens when a running app is updated."""

    if_not_fit: Literal["Relocate", "Hold", "Proceed"] = "Relocate"
    """What to do with an edit for which there is too little room where the app runs, such as one of a RayService that needs a
    second Ray cluster beside the first. Relocate moves the app with the edit to a cluster that has room for one copy of it, and
    lets it go on in place where there is none; Hold leaves the old manifest there until there is room; Proceed lets the edit
    go on, and its pods wait."""
    reserve_peak: Boolean = False
    """Whether there is room beside the app for what an update adds: the second Ray cluster of a RayService, the surge of a
    Deployment."""


def _with(properties: dict[str, Any]) -> dict[str, Any]:
    """The schema of a mapping that has some keys, and what they hold."""
    return {"properties": properties, "required": list(properties)}


class PlacementPolicySpec(Model):
    """Which objects it governs, and where they may go."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [
                {
                    "if": {"required": ["budgetPerHour"]},
                    "then": {"properties": {"placement": {"properties": {"admission": {"const": "Gang"}}}}},
                },
                {
                    "if": {
                        "properties": {"placement": _with({"admission": {"const": "Immediate"}})},
                        "required": ["placement"],
                    },
                    "then": {
                        "properties": {
                            "relocation": {"properties": {"when": {"properties": {"PendingPods": {"const": "Never"}}}}}
                        }
                    },
                },
                {
                    "if": {
                        "properties": {
                            "relocation": _with(
                                {"when": _with({"PreferredAvailable": {"enum": ["Automatic", "Manual"]}})}
                            )
                        },
                        "required": ["relocation"],
                    },
                    "then": {
                        "properties": {"placement": _with({"type": {"const": "Ordered"}})},
                        "required": ["placement"],
                    },
                },
                {
                    "if": {"properties": {"placement": {"required": ["dispatch"]}}, "required": ["placement"]},
                    "then": {
                        "properties": {
                            "budgetPerHour": False,
                            "preempts": {"const": "Never"},
                            "preemptible": {"const": False},
                            "relocation": {
                                "properties": {"when": {"properties": {"PreferredAvailable": {"const": "Never"}}}}
                            },
                        }
                    },
                },
            ]
        }
    )

    select: ObjectSelector
    """Which objects. Every condition given must hold; none at all means every object."""
    precedence: Integer = 0
    """Of several policies that match one object the highest governs; equal is an error."""
    group_by: GroupBy | None = None
    """What belongs together. Default: each sized object and what belongs to it."""
    clusters: ClusterSelector = ClusterSelector()
    """Eligible clusters; absent means every Workload cluster."""
    tolerations: tuple[TolerationField, ...] = ()
    """Cluster taints that its groups tolerate."""
    placement: PlacementSettings = PlacementSettings()
    """How clusters are chosen."""
    priority: Integer = 0
    """Groups of higher priority are placed first."""
    preempts: Literal["Never", "LowerPriority"] = "Never"
    """Whether a group that finds room nowhere may send preemptible ones of lower priority back to waiting."""
    preemptible: Boolean = False
    """Whether its groups may be sent back to waiting to make room for one of higher priority. What may have started and must
    not start twice is never sent back, nor what is admitted whatever the room, because that does not wait."""
    relocation: RelocationSettings = RelocationSettings()
    """When a placed group moves."""
    update: UpdateSettings = UpdateSettings()
    """What happens when a running app is updated."""
    budget_per_hour: Price | None = None
    """
    The most that machines may cost in an hour which autoscalers added, or will have to add, for its groups, over all
    clusters. A group that would go beyond it waits. A machine counts whole as soon as one pod of these groups is on it or
    was promised room on it; nodes that no autoscaler can add, and the `min` of a node group, count nothing. Machines
    without a price are not counted on. What runs is never stopped for it. Needs `admission: Gang`.
    """

    @model_validator(mode="after")
    def _a_budget_needs_gangs(self) -> Self:
        if self.budget_per_hour is not None and self.placement.admission == "Immediate":
            raise ValueError("budgetPerHour needs admission: Gang, because Immediate places whatever must be added")
        return self

    @model_validator(mode="after")
    def _kueue_heeds_no_budget_and_no_triggers_of_ours(self) -> Self:
        if self.placement.dispatch is not None:
            wrong = ["budgetPerHour"] if self.budget_per_hour is not None else []
            wrong += ["preempts: LowerPriority"] if self.preempts != "Never" else []
            wrong += ["preemptible: true"] if self.preemptible else []
            wrong += ["when.PreferredAvailable"] if self.relocation.when.preferred_available != "Never" else []
            if wrong:
                raise ValueError(
                    f"{' and '.join(wrong)} cannot be had with placement.dispatch: Kueue does not know of it"
                )
        return self

    @model_validator(mode="after")
    def _triggers_fit_the_placement(self) -> Self:
        when, placement = self.relocation.when, self.placement
        if (
            placement.admission == "Immediate"
            and "pending_pods" in when.model_fields_set
            and when.pending_pods != "Never"
        ):
            raise ValueError("when.PendingPods never applies to admission: Immediate, whose pods may wait")
        if when.preferred_available != "Never" and placement.type != "Ordered":
            raise ValueError("when.PreferredAvailable needs placement.type: Ordered, which says what is preferred")
        return self


class PlacementPolicy(OwnKind):
    """Where the objects it selects are placed."""

    kind: Literal["PlacementPolicy"]
    metadata: Metadata
    spec: PlacementPolicySpec

    @property
    def name(self) -> str:
        return self.metadata.name

    def tolerations(self) -> tuple[Toleration, ...]:
        return tuple(field.toleration() for field in self.spec.tolerations)


class OverridePolicySpec(Model):
    """Which objects change on which clusters, and how."""

    select: ObjectSelector
    """Which objects."""
    clusters: ClusterSelector = ClusterSelector()
    """On which clusters; absent means all."""
    overrides: Annotated[tuple[Override, ...], Field(min_length=1)]
    """What changes, in this order."""


class OverridePolicy(OwnKind):
    """Changes to the objects it selects, per cluster. Policies apply in order of their names."""

    kind: Literal["OverridePolicy"]
    metadata: Metadata
    spec: OverridePolicySpec

    @property
    def name(self) -> str:
        return self.metadata.name
