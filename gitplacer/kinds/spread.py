"""Fields that spread the copies of a group over the values of a cluster label: regions, providers, zones, or any other."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from gitplacer.kinds.fields import Count, LabelKey, Model, first_twice


class TopologySpread(Model):
    """How copies are spread over the values of one cluster label. At least one of the three numbers."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [{"required": ["maxSkew"]}, {"required": ["minDomains"]}, {"required": ["maxDomains"]}]
        }
    )

    topology_key: LabelKey
    """The cluster label. All clusters with one value of it are one domain; a cluster without it gets no copy."""
    max_skew: Count | None = None
    """By how many copies a domain to which one comes may be ahead of the domain with the fewest. Every domain counts in which the
    policy allows an Active cluster, also one that has no room."""
    min_domains: Count | None = None
    """In how many domains there are copies at least. A group that runs nowhere waits until it can be in so many."""
    max_domains: Count | None = None
    """In how many domains there are copies at most."""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.max_skew is None and self.min_domains is None and self.max_domains is None:
            raise ValueError("give at least one of maxSkew, minDomains, maxDomains")
        if (self.min_domains or 1) > (self.max_domains or self.min_domains or 1):
            raise ValueError(f"minDomains {self.min_domains} is more than maxDomains {self.max_domains}")
        return self


def _distinct(value: tuple[TopologySpread, ...]) -> tuple[TopologySpread, ...]:
    keys = [spread.topology_key for spread in value]
    twice = first_twice(keys)
    if twice is not None:
        raise ValueError(f"{twice} is there twice: say all about a label in one place")
    return value


TopologySpreads = Annotated[tuple[TopologySpread, ...], Field(max_length=4), AfterValidator(_distinct)]
