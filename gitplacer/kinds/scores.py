"""
The kind ClusterScores: what somebody outside has measured or knows of clusters, as one number for each, and the terms by which a policy
weighs such numbers.

A score is a file, so it changes by a commit: who wrote which number when, and what was placed because of it, stands in git.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from gitplacer.kinds.fields import DnsLabel, Instant, Integer, Model, OwnKind
from gitplacer.kinds.selectors import Metadata

HIGHEST = 100
"""The highest score that a cluster can have; the lowest is as far below 0."""

Score = Annotated[Integer, Field(ge=-HIGHEST, le=HIGHEST)]
Heaviness = Annotated[Integer, Field(ge=-10, le=10, json_schema_extra={"not": {"const": 0}})]


class ScoreTerm(Model):
    """One score and its weight. Exactly one of `name` and `allocatable`."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": ["name"]}, {"required": ["allocatable"]}]})

    name: DnsLabel | None = None
    """The name of the ClusterScores that has the numbers."""
    allocatable: Annotated[str, Field(min_length=1, max_length=317)] | None = None
    """A resource, such as `cpu` or `nvidia.com/gpu`: the cluster that offers most of it has 100, the one that offers least -100, the others
    in proportion. What its autoscaler may still add is counted, and what is used is not."""
    weight: Heaviness = 1
    """How much it counts, from -10 to 10 and not 0. A negative weight prefers low scores."""

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.name is None) is (self.allocatable is None):
            raise ValueError("give exactly one of name, allocatable")
        if not self.weight:
            raise ValueError("a weight of 0 counts nothing: remove the term, or give it a weight")
        return self

    @property
    def title(self) -> str:
        """What is weighed: `carbon`, `allocatable cpu`."""
        return self.name or f"allocatable {self.allocatable}"


class ClusterScoresSpec(Model):
    """One number for each cluster, and until when they hold."""

    scores: dict[DnsLabel, Score]
    """By the name of a cluster, a number from -100 to 100; the higher, the better. One that is not named counts as 0."""
    valid_until: Instant | None = None
    """From then on every cluster counts as 0. Absent means that the numbers hold until they are changed."""


class ClusterScores(OwnKind):
    """What somebody outside knows of clusters, such as carbon, latency or price, as one number for each. Policies of type Scored weigh it."""

    kind: Literal["ClusterScores"]
    metadata: Metadata
    spec: ClusterScoresSpec

    @property
    def name(self) -> str:
        return self.metadata.name
