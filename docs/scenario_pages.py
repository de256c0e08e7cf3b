"""
A page for each scenario: what it is given, what happens, and the commits that come of it, as git shows them.

The scenarios are files in docs/scenarios/. Each is told here with real repositories, and what `git log --stat` prints goes into the
page; tests/test_scenarios.py tells them too, without a page, and holds the pages up to date.
"""

from __future__ import annotations

import difflib
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from docs.in_nova import ORIGINS
from docs.scenario_repos import InRepos
from docs.sync_words import synced
from gitplacer import __version__
from gitplacer.explain import problem_lines, sentence
from gitplacer.kinds.record import RECORDS
from gitplacer.kinds.scenario import FileChanges, Observed, ScenarioStep
from gitplacer.scenarios import OnTrees, Script, Told, read_script, tell
from gitplacer.tree import Tree

ROOT = Path(__file__).resolve().parent.parent
FOLDER = "docs/scenarios"

PARTS: Mapping[str, tuple[str, ...]] = {
    "Where an app goes": (
        "fill-and-spill",
        "fill-no-spill",
        "whole-or-not",
        "right-cluster",
        "cloud-priority-standby",
        "cloud-priority-spot-first",
        "cheapest-cluster",
        "greenest-first",
        "spread-over-regions",
        "compound-ai",
        "divided",
        "span-at-placement",
    ),
    "Why and how it moves": (
        "pending-pods",
        "extend-running",
        "update-without-room",
        "update-held-back",
        "update-that-waits",
        "surge",
        "surge-aborted",
        "remove-first",
        "left-to-kueue",
        "finished-job",
        "drain-by-priority",
        "upgrade-by-clone",
        "clone-if-needed",
        "lost-and-back",
        "preferred-again",
        "manual-and-approval",
        "reverted",
        "guarded",
    ),
}
"""All scenarios, by what they are about."""

NAMES = tuple(name for names in PARTS.values() for name in names)
_LONG = 60
"""Lines: a file that is longer is named and not shown."""


def script(name: str) -> Script:
    """A scenario of the docs."""
    folder = ROOT / FOLDER
    beside = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.glob("files/*")}
    path = f"{FOLDER}/{name}.yaml"
    return read_script(path, (ROOT / path).read_bytes(), Tree.of(beside))


def index() -> str:
    """The list of all scenarios."""
    parts = []
    for title, names in PARTS.items():
        rows = [f"- [{script(name).spec.title}]({name}.md)" for name in names]
        parts.append("\n".join([f"## {title}", "", *rows]))
    return _joined(
        "# Scenarios",
        "Stories of fleets, step by step: what somebody pushes, what snapshots show, and the commits that come of it. Each is a "
        "[Scenario](../kinds/Scenario.md), a file that a test tells from beginning to end; what `git log` shows here was printed "
        "by git in the deployment repo of that story. Below it stands what Argo CD or Flux does with the files: each cluster has two syncs, its "
        "platform and its workloads, which apply what is there and prune what they have applied and is there no more "
        "([engines](../engines.md)); the sentinels, which change with every sync, are left out. Where a story is one that Nova's users know, its end "
        "tells how Nova does it; [the tour](../tour.md) has them in a list.",
        *parts,
    )


def page(name: str) -> str:
    """The page of one scenario."""
    told, steps, before = script(name), list[str](), Tree.of({})
    with tempfile.TemporaryDirectory() as folder:
        stage = InRepos(Path(folder) / "story")
        for one in tell(told, stage):
            steps.append(_step(told, one, stage, before))
            before = one.deployment
    return _joined(
        f"# {told.spec.title}",
        told.spec.story,
        f"The whole story is [{name}.yaml]({name}.yaml).",
        _given(told),
        *steps,
        _in_nova(name),
    )


def tour() -> str:
    """The list of what Nova's users know, each with the page that shows it here."""
    parts = []
    for source in dict.fromkeys(origin.source for origin in ORIGINS.values()):
        rows = [
            f"| {origin.title} | [{script(name).spec.title}](scenarios/{name}.md) | {origin.other} |"
            for name, origin in ORIGINS.items()
            if origin.source == source
        ]
        parts.append("\n".join([f"## {source}", "", "| there | here | what is other |", "|---|---|---|", *rows]))
    return "\n\n".join(parts)


def _in_nova(name: str) -> str:
    origin = ORIGINS.get(name)
    if origin is None:
        return ""
    return _joined("## In Nova", f"*{origin.source}: {origin.title}.* {origin.nova}", f"**Here.** {origin.other}")


def excerpt(name: str, step: str, what: str) -> str:
    """What a step of a scenario leaves behind, for other pages: the one `record`, or its first `commit`."""
    told = list(tell(script(name), OnTrees(__version__)))[int(step) - 1]
    if what == "commit":
        (commit, *_) = told.commits
        return f"```text\n{commit.message}```"
    (record,) = [path for path in told.deployment if path.startswith(f"{RECORDS}/")]
    return f"```yaml\n{told.deployment.read(record).decode()}```"


def _given(told: Script) -> str:
    given = told.spec.given
    files = {**dict.fromkeys(given.copies), **given.write}
    linked = [f"[`{name}`]({origin})" for name, origin in given.copies.items() if not name.startswith("fleet")]
    shown = [_fenced(name, text) for name, text in given.write.items() if name.startswith("policies/")]
    plain = [f"`{name}`" for name in files if name not in given.copies and not name.startswith("policies/")]
    rest = ", ".join([*linked, *plain])
    return _joined("## Given", *shown, f"Besides: {rest}." if rest else "")


def _step(script_: Script, told: Told, stage: InRepos, before: Tree) -> str:
    assert not told.differences, told.differences
    step = told.step
    what = [*_pushed(script_, told), *(_seen(seen) for seen in step.observe), *_by_hand(step)]
    log = stage.log("--stat=110", "--find-renames", "--format=%s")
    commits = (
        f"```text\n$ git log --stat --format=%s\n{log.strip(chr(10))}\n```"
        if log
        else "**Nothing changes**, so there is no commit."
    )
    held = [] if told.commits else _decisions(told)
    shown = [_fenced(name, told.deployment.read(name).decode()) for name in step.show]
    return _joined(
        f"## {told.index + 1}. {step.title}",
        f"*{told.now:%Y-%m-%d %H:%M}*",
        step.story,
        *what,
        f"```text\n$ gitplacer plan\n{stage.planned}```" if told.done is not None else "",
        commits,
        _engine(told, before),
        *held,
        *(_problems(told) if told.done is None else ()),
        *shown,
    )


def _pushed(script_: Script, told: Told) -> Iterator[str]:
    push: FileChanges | None = told.step.push
    if push is None:
        return
    for name, origin in push.copies.items():
        yield f"Somebody pushes `{name}` ([the file]({origin}))."
    for name, text in push.write.items():
        if text.count("\n") <= _LONG:
            yield f"Somebody pushes `{name}`:\n\n```yaml\n{text}```"
    for name in push.edit:
        copied = script_.beside.read(push.copies[name]) if name in push.copies else b""
        was = push.write[name].encode() if name in push.write else copied or told.files_before[name]
        lines = [was.decode().splitlines(), told.files[name].decode().splitlines()]
        diff = list(difflib.unified_diff(*lines, lineterm="", n=1))[3:]
        yield "\n".join([f"Somebody edits `{name}`:", "", "```diff", *diff, "```"])
    for name in push.remove:
        yield f"Somebody removes `{name}`."


def _seen(seen: Observed) -> str:
    clusters = ", ".join(f"`{name}`" for name in seen.clusters)
    told = []
    if seen.settled:
        told.append("all that is deployed there is ready" + (", nothing else runs" if not seen.groups else ""))
    told += [f"`{group}` is {_SEEN[word]}" for group, word in seen.groups.items()]
    for group, roles in seen.pending.items():
        pods = " and ".join(f"{count} × {role}" for role, count in roles.items())
        told.append(f"of `{group}` {pods} wait{'s' if sum(roles.values()) == 1 else ''} for a node")
    told += [f"`{item.by}` where it said `{item.replace}`" for item in seen.edit]
    late = {"Deployed": "", "Before": ", which has not applied the last commit,", "Unknown": ""}[seen.applied]
    return f"A snapshot of {clusters}{late} says: {'; '.join(told) or 'nothing new'}."


_SEEN = {
    "Pending": "pending",
    "Running": "there, and not ready",
    "Ready": "ready",
    "Succeeded": "done",
    "Failed": "done, and has failed",
    "Gone": "gone",
}


def _by_hand(step: ScenarioStep) -> Iterator[str]:
    change = step.deployment
    if change is None:
        return
    if change.revert:
        yield f"Somebody reverts the commit “{change.revert}” in the deployment repo: `git revert --no-edit`."
    for name in (*change.write, *change.edit, *change.remove):
        yield f"In the deployment repo somebody changes `{name}`."


def _engine(told: Told, before: Tree) -> str:
    if told.done is None:
        return ""
    table = synced(before, told.deployment, told.done.snapshot.source.own.fleet.spec.deployment.root)
    return f"What Argo CD or Flux then does:\n\n{table}" if table else ""


def _decisions(told: Told) -> list[str]:
    if told.done is None:
        return []
    view = told.done.view
    wanted = told.step.expect.decisions
    return [
        f"> {decision.group}: {sentence(decision, view)}"
        for decision in view.plan.decisions
        if decision.group in wanted
    ]


def _problems(told: Told) -> Iterator[str]:
    lines = [line for problem in told.problems for line in problem_lines(problem)]
    if lines:
        yield "\n".join(["```text", *lines, "```"])


def _fenced(name: str, text: str) -> str:
    return f"`{name}`:\n\n```yaml\n{text}```"


def _joined(*parts: str) -> str:
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"
