"""A drain for a terminal, and for the body of a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from gitplacer.formats.markdown import LIMIT, escaped
from gitplacer.model.drains import Drain, DrainPass, Return, Stuck
from gitplacer.plaintext import aligned, few, printable

_BACK = {
    Return.BY_ITSELF: "By itself comes back what its policy moves to a cluster that it likes better, if it likes this one better",
    Return.PROPOSED: "On consent comes back what its policy proposes to move to a cluster that it likes better, if it likes this one better",
    Return.BY_HAND: "By hand, with `gitplacer return GROUP`, comes back",
}
_REVERT = "revert this, and the cluster takes groups again. What has not left by then stays."


def drain_lines(drain: Drain) -> list[str]:
    """For a terminal."""
    lines = [f"Draining {printable(drain.cluster)}"]
    for number, each in enumerate(drain.passes, 1):
        lines += ["", f"Pass {number}{_after(each)}"]
        lines += [f"  {printable(step.group)} {printable(step.what, 1000)}" for step in each.steps]
    if not drain.passes:
        lines += ["", "  No pass moves anything."]
    if drain.stuck:
        lines += ["", "Cannot leave"]
        for stuck in drain.stuck:
            lines += [f"  {printable(stuck.group)}: {stuck.why}", *aligned(stuck.refused, "      ")]
    lines += ["", f"The way back: {_REVERT}"]
    lines += [f"  {text}: {few(groups, most=5)}" for text, groups in _returns(drain)]
    return [*lines, "", verdict(drain)]


def verdict(drain: Drain) -> str:
    """One line: when the cluster is empty, or who stays."""
    name = printable(drain.cluster)
    rest = f"; {few(drain.platform)} of the platform stay{'s' * (len(drain.platform) == 1)}" if drain.platform else ""
    if drain.nominated:
        who = few([printable(group) for group in drain.nominated])
        rest += f"; Kueue may have started {who} there, which no pass takes away: stop its ClusterQueue there"
    if drain.is_cut:
        return f"{name} is not empty after {len(drain.passes)} passes, and more would follow"
    if drain.stuck:
        who = few([printable(stuck.group) for stuck in drain.stuck])
        return f"{name} does not become empty: {who} cannot leave{rest}"
    if not drain.passes:
        return f"{name} has no groups{rest}"
    count = len(drain.passes)
    return f"{name} is empty after {'one pass' if count == 1 else f'{count} passes'}{rest}"


def _after(each: DrainPass) -> str:
    return f", when {'; '.join(printable(need, 1000) for need in each.needs)}" if each.needs else ""


def _returns(drain: Drain) -> Iterator[tuple[str, list[str]]]:
    for way, text in _BACK.items():
        groups = [printable(group) for group, found in drain.back if found is way]
        if groups:
            yield text, groups


def drain_markdown(drain: Drain) -> str:
    """For the body of a pull request; what is too much for one is left out, and said to be."""
    head = f"### Drain {escaped(drain.cluster)}\n\n**{escaped(verdict(drain))}**\n"
    tail = "".join(_tail(drain))
    room = LIMIT - len((head + tail).encode()) - 200
    body = ""
    for number, each in enumerate(drain.passes, 1):
        rows = "".join(f"| {escaped(s.group)} | {_way(s.before, s.after)} | {escaped(s.what)} |\n" for s in each.steps)
        part = f"\n**Pass {number}**{escaped(_after(each))}\n\n| Group | From → to | What |\n|---|---|---|\n{rows}"
        if len((body + part).encode()) > room:
            left = len(drain.passes) - number + 1
            more = "1 more pass is" if left == 1 else f"{left} more passes are"
            body += f"\n{more} left out here; `gitplacer drain` shows all.\n"
            break
        body += part
    return head + body + tail


def _way(before: tuple[str, ...], after: tuple[str, ...]) -> str:
    return f"{escaped(few(before)) or '–'} → {escaped(few(after)) or '–'}"


def _tail(drain: Drain) -> Iterator[str]:
    if drain.stuck:
        yield "\n**Cannot leave**\n\n"
        shown = drain.stuck[:50]
        yield from (_stuck_item(stuck) for stuck in shown)
        if len(drain.stuck) > len(shown):
            yield f"- and {len(drain.stuck) - len(shown)} more\n"
    yield f"\n**The way back**: {_REVERT}\n\n"
    yield from (f"- {text}: {escaped(few(groups, most=5))}\n" for text, groups in _returns(drain))


def _stuck_item(stuck: Stuck) -> str:
    refused = "".join(f"  - {escaped(name)}: {code}, {escaped(said)}\n" for name, code, said in stuck.refused[:10])
    return f"- {escaped(stuck.group)}: {escaped(stuck.why)}\n{refused}"
