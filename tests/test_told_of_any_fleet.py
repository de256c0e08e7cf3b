"""
Whatever a fleet says of itself, all that is told of it agrees.

The fleets are those of `tests/test_any_fleet.py`, wilder and tamer ones, and what is asked of each is what commands ask. These laws hold:

- whoever asks is told something, and programs are told it as the schemas have it;
- what is remembered of passes before only saves work, and so does not to ask for verdicts;
- the quick way to lose clusters says what the whole plan says;
- of an edit of a fleet at rest a part tells what the whole does;
- as many pods as `room` says are placed, and no more;
- what plan JSON promises of a group the records of the pass keep.

A short form runs with the suite. For more:

    python -m tests.test_told_of_any_fleet --seeds 0:2000
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import jsonschema

from gitplacer.accounts import Accounts
from gitplacer.formats.documents import DOCUMENTS
from gitplacer.formats.explanation import explanation_json
from gitplacer.formats.group import explain_group
from gitplacer.formats.markdown import plan_markdown
from gitplacer.formats.options import Options
from gitplacer.formats.planjson import plan_document
from gitplacer.formats.status import status_json, status_text
from gitplacer.formats.text import plan_text
from gitplacer.hydrate import Hydration, hydrate
from gitplacer.kept import read_records
from gitplacer.model.decision import Action
from gitplacer.model.verdicts import EVERY, NONE, OF_WAITING
from gitplacer.placement.ledgercache import LedgerCache
from gitplacer.remedies import remedy
from gitplacer.review import Review
from gitplacer.review.outcomes import Fate, became, promise_of
from gitplacer.room import largest, written
from gitplacer.source.files import NoMemo
from gitplacer.whatif.ground import Ground, suppose
from gitplacer.whatif.losses import Losses, supposition
from tests.seeds import live_all
from tests.stories import Story, deployment, outcome, policy
from tests.test_any_fleet import Draws, Life
from tests.test_inpart import AtRest, holds

SHORT = 20
"""Seeds in the suite."""
SCHEMAS = {kind: jsonschema.Draft202012Validator(DOCUMENTS[kind]()) for kind in ("Plan", "Explanation")}
SHAPES = ("cpu=500m,memory=1Gi", "cpu=1,memory=5Gi", "cpu=3")
MOST = 40
"""Pods of an idea that are tried."""
EDITS = (
    (r"([rR]eplicas): (\d+)", lambda found: f"{found[1]}: {int(found[2]) + 1}"),
    (r"image: (\w+)", lambda found: f"image: {found[1]}2"),
    (r"\Z", lambda found: "# looked at\n"),
    (r'cpu: "?\w+"?', lambda found: "cpu: 2"),
)


@dataclass
class Told(Life):
    """A fleet, and what is told of it all the while."""

    ledgers: LedgerCache = field(default_factory=LedgerCache)

    wildness = (0.1, 0.1, 0.4, 1.0)

    def _expect(self, law: str, found: object, expected: object) -> None:
        if found != expected:
            self.wrong.append(f"seed {self.seed}: {law}:\n  {found}\n  {expected}")

    def _pass(self, story: Story) -> Hydration:
        done = super()._pass(story)
        promise = promise_of(plan_document(done.view))
        records, _ = read_records(done.tree, NoMemo(), [])
        for each in became(promise, records, promise.inputs, ["0" * 40]).groups:
            kept = {Fate.AS_PLANNED, Fate.WAITS} if each.planned.action == Action.WAIT else {Fate.AS_PLANNED}
            if each.planned.action != Action.HOLD and each.fate not in kept:
                self._expect(f"what a plan promises of {each.group} is kept", each, Fate.AS_PLANNED)
        return done

    def _look(self, draws: Draws, story: Story) -> None:
        inputs = story.inputs()
        plain = hydrate(inputs, with_candidates=True)
        known = hydrate(inputs, memo=story.memory, ledgers=self.ledgers, with_candidates=True)
        self._expect("what is remembered changes nothing", known.view.plan.decisions, plain.view.plan.decisions)
        fewer = hydrate(
            inputs, memo=story.memory, ledgers=self.ledgers, with_candidates=draws.choice((NONE, OF_WAITING, EVERY))
        )
        self._expect("verdicts change nothing", changes(fewer), changes(plain))
        if draws.random() < 0.4:
            self._tell(draws, story, known)
            self._lose(story)

    def _tell(self, draws: Draws, story: Story, made: Hydration) -> None:
        """Every way to tell of a plan and of each group."""
        view, memo = made.view, story.memory
        review = Review(view)
        assert plan_text(view, Options(), review) and plan_markdown(view, Options(), review)
        assert status_text(view, self.ledgers) and json.dumps(status_json(view, self.ledgers))
        self._valid("Plan", json.loads(json.dumps(plan_document(view, review))))
        for decision in view.plan.decisions:
            accounts, group = Accounts(view, self.ledgers), decision.group
            found = remedy(story.inputs(), made, group, memo, draws.choice((0, 2)), every_kind=True, accounts=accounts)
            assert explain_group(view, group, remedy=found)
            self._valid("Explanation", json.loads(explanation_json(view, group, remedy=found)))

    def _valid(self, kind: str, document: object) -> None:
        wrong = [
            f"{'/'.join(map(str, error.absolute_path))}: {error.message}"
            for error in SCHEMAS[kind].iter_errors(document)
        ]
        self._expect(f"{kind} is as its schema has it", wrong[:3], [])

    def _lose(self, story: Story) -> None:
        under = Ground.of(story.inputs(), story.memory)
        losses = Losses(under)
        clusters = under.snapshot.source.own.clusters.values()
        names = sorted(each.name for each in clusters if each.spec.state != "Lost")
        for loss in (*((name,) for name in names), *[*combinations(names, 2)][:2]):
            whole, _ = suppose(under, supposition(loss), with_left=False)
            self._expect(f"the quick way to lose {loss} says what the whole plan says", losses(loss), whole)
            self.counts["quick losses"] += losses.is_quick

    def _rest(self, draws: Draws, story: Story) -> None:
        if story.plan(with_candidates=False).steps:
            return  # a minute later
        rest, files = AtRest.of(story), [path for path in story.source if path.startswith("workloads/")]
        self.counts["at rest"] += 1
        for _ in range(3 if rest.footing is not None and files else 0):
            chosen = draws.sample(files, min(len(files), draws.randint(1, 2)))
            part, whole = rest.edited({path: re.sub(*draws.choice(EDITS), story.source[path]) for path in chosen})
            if part is not None:
                holds(rest, part, whole)
                self.counts["in part"] += 1
        self._fill(draws, story)

    def _fill(self, draws: Draws, story: Story) -> None:
        """As many pods of an idea as a cluster has room for are placed there, and no more."""
        view = story.plan(with_candidates=False).view
        accounts, shape = Accounts(view), draws.choice(SHAPES)
        known = {name for cluster in accounts.after.names for name in accounts.after[cluster].columns.names}
        for name in accounts.after.names if {"cpu", "memory"} <= known else ():
            told = accounts.state(name), accounts[name].freshness
            if told != ("Active", "Current") or view.snapshot.source.tenancy.tenants:
                continue
            idea = written(shape, known).on(view.snapshot.profiles[name])
            most = largest(accounts.after[name], idea).now
            for number in range(max(1, most), most + 2 if most < MOST else 0):
                self._expect(
                    f"of {number} x {shape} there is room for {most} on {name}",
                    self._is_placed(story, name, shape, number),
                    number <= most,
                )
                self.counts["filled"] += number <= most

    def _is_placed(self, story: Story, name: str, shape: str, number: int) -> bool:
        rule = (
            f"select: {{namespaces: [idea]}}\nprecedence: 9\nclusters: {{names: [{name}]}}\n"
            "placement: {scaleUp: Never}\ntolerations: [{operator: Exists}]"
        )
        app = deployment("idea", "app", f"requests: {{{shape.replace('=', ': ')}}}", replicas=number)
        more = replace(story, source={**story.source, **policy("idea", rule), **app})
        return outcome(more.plan(with_candidates=False))["idea/app"].startswith("Place")


def changes(made: Hydration) -> list[object]:
    """What a plan changes, and where groups are then."""
    return [*(step.changes for step in made.steps), *((d.group, d.action, d.after) for d in made.view.plan.decisions)]


def test_whatever_a_fleet_says_all_that_is_told_of_it_agrees() -> None:
    lives = [Told(seed).live() for seed in range(SHORT)]
    assert [line for life in lives for line in life.wrong] == []
    counts = sum((life.counts for life in lives), Counter[str]())
    assert all(counts[name] > 1 for name in ("quick losses", "in part", "filled")), counts


def main(args: Sequence[str] | None = None) -> int:
    """Live any range of seeds from the command line; exit 1 where a law was broken."""
    return live_all("What is told of any fleet.", "fleets", lambda seed: Told(seed).live(), args)


if __name__ == "__main__":
    sys.exit(main())
