"""
The kind Scenario: a story of a fleet, and the commits that must come of it.

It begins with a source and goes on in steps. In each somebody pushes, snapshots come in, somebody has a hand in the
deployment repo, or clusters are supposed to be lost; then a pass runs, and what it does is held against what the step expects.
The same file is a test, a page of the docs, and what a user writes to hold policies to their word: one that brings no files of
its own is about the source that it lies in.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from gitplacer.kinds.fields import (
    Boolean,
    Count,
    DnsLabel,
    Instant,
    Matching,
    Model,
    NamespacedName,
    OwnKind,
    Seconds,
    Word,
)
from gitplacer.kinds.selectors import ClusterSelector, Metadata

FilePath = Annotated[
    str,
    Matching(
        r"^(?!([^\x00-\x1f\\]*/)?\.{0,2}(/|$))[^\x00-\x1f\\*?]+$",
        'must be a relative path without empty, "." or ".." parts',
    ),
]
Change = Annotated[
    str,
    Matching(
        r"^([AMD] [^\s].*|R [^\s].* => [^\s].*)$",
        "must be A, M or D and a path pattern, or R and two of them with => between",
    ),
]
Line = Annotated[str, Field(min_length=1, max_length=200)]
Action = Literal["Place", "Keep", "Update", "Relocate", "Extend", "Remove", "Preempt", "Wait", "Hold"]
Seen = Literal["Pending", "Running", "Ready", "Succeeded", "Failed", "Gone"]


class Replacement(Model):
    """A change of a text: words that stand there exactly once, and others for them."""

    replace: Annotated[str, Field(min_length=1)]
    """The words to replace."""
    by: Annotated[str, Field(alias="with")]
    """What stands there then."""


class FileChanges(Model):
    """Changes of files, made in this order: write, copy, edit, remove."""

    message: Annotated[str, Field(max_length=200)] = ""
    """The subject of the commit; the step's title if there is none."""
    write: dict[FilePath, str] = {}
    """Files and what they hold."""
    copies: Annotated[dict[FilePath, FilePath], Field(alias="copy")] = {}
    """Files, and for each the file beside the scenario's own that it is a copy of."""
    edit: dict[FilePath, tuple[Replacement, ...]] = {}
    """Files, and what is replaced in them."""
    remove: tuple[FilePath, ...] = ()
    """Files to remove."""


class Given(Model):
    """The source at the beginning, and the time. Without `directory`, `write` and `copy` it is the source that the scenario lies in."""

    now: Instant | None = None
    """The time of the first step. Absent: that of the newest snapshot, so that a test grows no older than its snapshots."""
    directory: FilePath | None = None
    """A directory beside the scenario's file that holds the source."""
    write: dict[FilePath, str] = {}
    """Files of the source and what they hold; snapshots are in `capacity/`, or where the Fleet says."""
    copies: Annotated[dict[FilePath, FilePath], Field(alias="copy")] = {}
    """Files of the source, and for each the file beside the scenario's own that it is a copy of."""
    capacity: tuple[FilePath, ...] = ()
    """Snapshots, or directories of them, beside the scenario's file. Each takes the place of that of its cluster."""
    deployment: FilePath | None = None
    """A directory beside the scenario's file that holds what is in the deployment repo. Absent: nothing is placed yet."""

    @property
    def brings_a_source(self) -> bool:
        """Whether the scenario is about files of its own."""
        return bool(self.directory is not None or self.write or self.copies)


class Observed(Model):
    """A new snapshot of some clusters: their last one with these changes, taken at the time of the step."""

    clusters: Annotated[tuple[DnsLabel, ...], Field(min_length=1)]
    """The clusters."""
    age: Seconds = 0
    """How long before the step it was taken."""
    applied: Literal["Deployed", "Before", "Unknown"] = "Deployed"
    """The epochs that it reports: of what is deployed now, those of the snapshot before, or none."""
    settled: Boolean = False
    """Whether everything that is deployed there is seen ready, and nothing else is seen."""
    groups: dict[NamespacedName, Seen] = {}
    """Groups and what is seen of each. Ready: it runs, and serves or has all its pods; Gone: nothing is left."""
    pending: dict[NamespacedName, dict[Annotated[str, Field(min_length=1)], Count]] = {}
    """Groups with pods that wait for a node: how many of each role. They wait since they were first seen waiting."""
    edit: tuple[Replacement, ...] = ()
    """What is replaced in the text of the snapshot before, such as the use of a node."""


class ByHand(FileChanges):
    """What somebody does in the deployment repo."""

    revert: Line | None = None
    """The subject of a commit that is reverted, the last of that name. It takes a real repo to tell."""


class Supposition(Model):
    """What if: the pass of the step is made on this, and nothing of it stays."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    lose: Annotated[tuple[DnsLabel, ...], Field(min_length=1)] | None = None
    """Clusters that are lost, all at once."""
    drain: Annotated[tuple[DnsLabel, ...], Field(min_length=1)] | None = None
    """Clusters that are to be emptied, all at once."""
    lose_each: ClusterSelector | None = None
    """Clusters of which one at a time is lost too: the pass is made once for each. `{}` means every cluster."""

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.lose is None and self.drain is None and self.lose_each is None:
            raise ValueError("must name clusters: lose, drain or loseEach")
        return self


class Claim(Model):
    """Something that must be true of a plan."""

    cel: Annotated[str, Field(min_length=1, max_length=4000)]
    """An expression in CEL over the plan as `plan --format json` prints it. Its keys are variables: groups, fleet, clusters, summary,
    problems, inputs; and there are `lost` and `drained`, the clusters that are supposed to be."""
    because: Line = ""
    """Why it must be, for whoever finds that it is not."""


class ExpectedCommit(Model):
    """A commit that must come out."""

    subject: Line
    """Its subject."""
    files: tuple[Change, ...] | None = None
    """The changes of files that it makes: `A path`, `M path`, `D path`, `R old => new`; the wildcards *, ? and [...] stay within a
    folder, ** does not. Each must match a change, and each change must match one, but for those that every commit makes: sentinels,
    namespaces, records, hydrator.metadata. Absent means any."""


class ExpectedDecision(Model):
    """What must happen to a group."""

    action: Action | None = None
    """The action."""
    to: tuple[DnsLabel, ...] | None = None
    """The clusters that have its files after the pass."""
    reason: Word | None = None
    """The code of the reason."""


class ExpectedProblem(Model):
    """A problem that must be reported."""

    code: Word
    """Its code."""
    at: Annotated[str, Matching(r"^[^\s:]+:[0-9]+(:[0-9]+)?$", "must be file:line or file:line:column")] | None = None
    """Where it is."""


class Expected(Model):
    """What the pass must come to. What is absent is not looked at, but that there be no error among its problems."""

    commits: tuple[ExpectedCommit, ...] | None = None
    """All its commits, in order. An empty list means that nothing changes."""
    decisions: dict[NamespacedName, ExpectedDecision] = {}
    """Groups and what happens to them; others are not looked at."""
    problems: tuple[ExpectedProblem, ...] | None = None
    """All problems that it reports, in any order."""
    that: tuple[Claim, ...] = ()
    """What must be true of the plan."""


class ScenarioStep(Model):
    """Something happens, and a pass runs."""

    title: Line
    """What happens, in words."""
    story: str = ""
    """Why, and what to look at; Markdown."""
    wait: Seconds = 300
    """How long after the step before."""
    push: FileChanges | None = None
    """What somebody pushes to the source."""
    observe: tuple[Observed, ...] = ()
    """Snapshots that come in, after what is pushed."""
    deployment: ByHand | None = None
    """What somebody does in the deployment repo before the pass."""
    suppose: Supposition | None = None
    """What the pass is made on; the next step goes on as if it had not been."""
    expect: Expected = Expected()
    """What the pass must come to."""
    show: tuple[FilePath, ...] = ()
    """Files of the deployment repo after the pass that a page about the scenario shows."""


class ScenarioSpec(Model):
    """What is given, and what happens."""

    title: Line
    """What it is about, in a few words."""
    story: str = ""
    """What it shows; Markdown."""
    given: Given = Given()
    """The source at the beginning, and the time."""
    steps: Annotated[tuple[ScenarioStep, ...], Field(min_length=1)]
    """What happens, one after another."""


class Scenario(OwnKind):
    """A story of a fleet, step by step, and the commits that must come of it."""

    kind: Literal["Scenario"]
    metadata: Metadata
    spec: ScenarioSpec

    @property
    def name(self) -> str:
        return self.metadata.name
