"""
Dividing a group over clusters: how far room lets what is `due` to each go there.

A share comes to a cluster whole or waits. Where the group runs already it grows by as many replicas as find room. And no cluster
gives one up before another has taken it: what is divided anew is never less for it than it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from gitplacer.grouping import Group
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.model.counts import Counts, Part
from gitplacer.model.decision import Action, Candidate, Decision, Finding, Reason, Verdict
from gitplacer.placement.choice import Choice
from gitplacer.placement.departures import Departures
from gitplacer.placement.due import Due, Dues, Replicas
from gitplacer.placement.occupancy import Occupancy, Placements
from gitplacer.placement.onepass import Pass

_MOST_HALVED = 12
"""How often the replicas that a cluster may take in every order are halved; up to some thousands that finds how many it takes."""


class Division:
    """Divided groups in one round. `nowhere` tells why a group found no cluster at all."""

    def __init__(
        self,
        shared: Pass,
        placements: Placements,
        occupancy: Occupancy,
        choice: Choice,
        departures: Departures,
        nowhere: Callable[[Group, PlacementPolicy], Finding],
    ) -> None:
        self._pass = shared
        self._placements = placements
        self._occupancy = occupancy
        self._choice = choice
        self._dues = Dues(shared, placements, occupancy, choice, departures)
        self._nowhere = nowhere

    def is_settled(self, group: Group, policy: PlacementPolicy) -> bool:
        """Whether every cluster has what is due to it, and nobody else anything."""
        before = self._placements.get(group.id, ())
        due = self._dues.of(group, policy)
        if due.leaving or not before or set(before) != due.shares.keys():
            return False
        return all(
            self._pass.counts.get((group.id, name), Counts()) == self._dues.counts(due, name, due.shares)
            for name in before
        )

    def decide(self, group: Group, policy: PlacementPolicy) -> Decision:
        """Bring a group as near to what is due as room allows."""
        before = self._placements.get(group.id, ())
        self._occupancy.open()
        due = self._dues.of(group, policy)
        now = {name: self._dues.has(group, name, due.stock) for name in before}
        new, reasons = self._spread(group, policy, due, now)
        self._give_up(due, new)
        after = tuple(sorted(name for name, has in new.items() if name in due.shares or any(has.values())))
        for name in after:
            self._pass.count(group.id, name, self._dues.counts(due, name, new))
        for name in set(before) - set(after):
            self._occupancy.books.release(group.id, name)
        reasons = {name: found for name, found in reasons.items() if name in after}
        missing = _missing(due, new)
        finding = self._finding(group, policy, due, missing, after, reasons)
        if left := sorted((set(before) - set(after)) & due.leaving.keys()):
            finding = due.leaving[left[0]] if finding.code is not Reason.SHARES_WAIT else finding
        waits = not after or bool(missing)
        stuck = finding.code is Reason.NOWHERE_TO_GO
        candidates = self._choice.evaluation.candidates(group, policy, after, reasons, waits=waits or stuck)
        held = stuck or finding in due.stuck.values()
        return Decision(
            group=group.id, policy=policy.name, action=_action(before, after, held), before=before, after=after,
            finding=finding, reasons=reasons, candidates=tuple(self._with_more(group, policy, due, new, missing, candidates)),
            waiting_since=self._pass.waiting_since(group.id) if waits else None, updated_in_place=held,
        )  # fmt: skip

    # going there

    def _spread(
        self, group: Group, policy: PlacementPolicy, due: Due, now: Mapping[str, Replicas]
    ) -> tuple[dict[str, dict[Part, int]], dict[str, Finding]]:
        """What every cluster has when each has taken of its share what it can, and why those take it that get more."""
        new = {name: dict(has) for name, has in now.items()}
        reasons: dict[str, Finding] = {}
        for name in sorted(due.shares, key=lambda n: (self._pass.preference(policy, n), n)):
            has, wish = now.get(name), due.shares[name]
            if has is not None and all(has[part] >= number for part, number in wish.items()):
                continue
            if self._dues.is_closed(group, policy, name):
                if has is None:  # what would be due to it is what there is to say of it
                    self._pass.count(group.id, name, self._dues.counts(due, name, {**due.shares, name: wish}))
                continue
            # Those who have to leave go bit by bit, if they must, and so does what follows room; else a share comes whole.
            start = dict.fromkeys(wish, 0) if has is None else dict(has)
            least = _steps(start, wish) if has is None and not due.leaving and due.weights is not None else 1
            taken = self._most(group, policy, due, name, start, wish, least, is_there=has is not None)
            if taken is not None:
                new[name], reasons[name] = taken
        return new, reasons

    def _most(
        self,
        group: Group,
        policy: PlacementPolicy,
        due: Due,
        name: str,
        start: Replicas,
        wish: Replicas,
        least: int,
        *,
        is_there: bool,
    ) -> tuple[dict[Part, int], Finding] | None:
        """
        As many replicas of what is due to a cluster as it takes, room reserved; None if not even the least. Whether they have room is soon
        told, and every order is tried only for as many as that: where some order leaves one of them out, fewer may do.
        """
        before = self._pass.counts.get((group.id, name))

        def counted(steps: int) -> dict[Part, int]:
            some = _on_the_way(start, wish, steps)
            self._pass.count(group.id, name, self._dues.counts(due, name, {**due.shares, name: some}))
            return some

        def taken(steps: int, *, again: bool = False) -> tuple[dict[Part, int], Finding] | None:
            some = counted(steps)
            found = self._choice.more(group, policy, name) if is_there else self._come(group, policy, name, again=again)
            if found is None:
                return None
            self._choice.tries.absolve(group.id, name)
            return some, found

        def fits(steps: int) -> bool:
            counted(steps)
            return self._choice.has_room(group, policy, name)

        whole = _steps(start, wish)
        done = taken(whole)
        if done is None and least < whole:
            low, high = least - 1, whole - 1
            while low < high:
                middle = (low + high + 1) // 2
                low, high = (middle, high) if fits(middle) else (low, middle - 1)
            done = taken(low) if low >= least else None
            if done is None:
                high, low = low, least - 1  # the one is refused now, and of the other nothing is asked
                for _ in range(_MOST_HALVED):
                    if high - low <= 1:
                        break
                    middle = (low + high) // 2
                    fewer = taken(middle, again=done is not None)
                    low, high, done = (low, middle, done) if fewer is None else (middle, high, fewer)
                if done is not None:
                    counted(low)
        if done is None:
            if is_there:
                self._pass.count(group.id, name, before or Counts())
            else:
                # What is missing for its whole share is what there is to say of it or, where room decides, for one.
                counted(1 if due.weights is None else whole)
        return done

    def _come(self, group: Group, policy: PlacementPolicy, name: str, *, again: bool) -> Finding | None:
        """Take a cluster for a share, if it has room for all of it; `again`: for more than it was taken for, or it stays with that."""
        others, books = self._pass.clusters.keys() - {name}, self._occupancy.books
        before = books[name].copy() if again else None
        if before is not None:
            books.release(group.id, name)
        found = self._choice.choose(group, policy, exclude=others, wanted=1).get(name)
        if found is None and before is not None:
            books.replace(name, before)
        return found

    @staticmethod
    def _give_up(due: Due, new: dict[str, dict[Part, int]]) -> None:
        """Let clusters that have more than is due to them give up what others have taken, those first that have to be left."""
        for part, total in due.totals.items():
            over = sum(has.get(part, 0) for has in new.values()) - total
            excess = {
                name: has[part] - due.shares.get(name, {}).get(part, 0)
                for name, has in new.items()
                if name not in due.stuck and part in has
            }
            for name in sorted(excess, key=lambda n: (n not in due.leaving, -excess[n], n)):
                less = max(0, min(excess[name], over))
                new[name][part] -= less
                over -= less

    def _with_more(
        self,
        group: Group,
        policy: PlacementPolicy,
        due: Due,
        new: Mapping[str, Replicas],
        missing: Mapping[str, int],
        candidates: Iterable[Candidate],
    ) -> Iterator[Candidate]:
        """Verdicts, and of clusters that would take more, as the room decides or the weights, what one replica more would lack."""
        waiting = [p for p, total in sorted(due.totals.items()) if sum(has.get(p, 0) for has in new.values()) < total]
        for candidate in candidates:
            name = candidate.cluster
            has, wish = new.get(name, {}), due.shares.get(name, {})
            parts = waiting if due.weights is None else [part for part in sorted(wish) if has.get(part, 0) < wish[part]]
            if candidate.verdict is not Verdict.CHOSEN or not parts or not missing or name in due.leaving:
                yield candidate
                continue
            known = self._pass.counts.get((group.id, name), Counts())
            one_more = {**has, parts[0]: has.get(parts[0], 0) + 1}
            self._pass.count(group.id, name, self._dues.counts(due, name, {**new, name: one_more}))
            more = self._choice.evaluation.lacks(group, policy, name)
            self._pass.count(group.id, name, known)
            yield replace(candidate, more=more)

    def _finding(
        self,
        group: Group,
        policy: PlacementPolicy,
        due: Due,
        missing: Mapping[str, int],
        after: Sequence[str],
        reasons: Mapping[str, Finding],
    ) -> Finding:
        if not after:
            return self._nowhere(group, policy)
        changed = after != self._pass.recorded.get(group.id, ()) or self._pass.is_recounted(group.id, after)
        if due.leaving.keys() & set(after) and not changed:
            first = min(due.leaving.keys() & set(after))
            return due.stuck.get(first) or Finding(code=Reason.NOWHERE_TO_GO, subject=due.leaving[first].code)
        if missing:
            wanted = sum(sum(wish.values()) for wish in due.shares.values())
            told = ", ".join(f"{number} on {name}" for name, number in sorted(missing.items()))
            if due.weights is None:  # they go wherever there is room
                told = ""
            placed = wanted - sum(missing.values())
            return Finding(code=Reason.SHARES_WAIT, subject=told, placed=placed, wanted=wanted)
        return reasons[min(reasons)] if reasons else Finding(code=Reason.KEPT)


def _missing(due: Due, new: Mapping[str, Replicas]) -> dict[str, int]:
    """How many replicas that are due to a cluster it does not have."""
    found = {name: _steps(new.get(name, {}), wish) for name, wish in due.shares.items()}
    return {name: number for name, number in found.items() if number}


def divides(group: Group) -> bool:
    """Whether a group's policy divides it."""
    return group.policy is not None and group.policy.spec.placement.type == "Divide"


def brought_on(earlier: Decision, later: Decision) -> Decision:
    """
    A decision of a later round, which found room for what an earlier one had left, as one about both: why each cluster takes all that it has then,
    with the machines that are added for that, and how much waits still.
    """
    reasons = {name: found for name, found in {**earlier.reasons, **later.reasons}.items() if name in later.after}
    finding = later.finding
    if finding.code is not Reason.SHARES_WAIT:
        finding = earlier.finding
        if finding.code is Reason.SHARES_WAIT:
            finding = reasons[min(reasons)] if reasons else later.finding
    news = bool(later.reasons) or finding != earlier.finding
    known = {each.cluster: each for each in earlier.candidates if each.verdict is Verdict.CHOSEN}
    candidates = tuple(
        replace(known.get(each.cluster, each), more=each.more)
        if each.verdict is Verdict.CHOSEN and each.cluster not in later.reasons
        else each
        for each in later.candidates
    )
    if later.before == later.after:
        candidates = candidates if news else earlier.candidates or candidates
        later = replace(earlier, move=later.move, waiting_since=later.waiting_since)
    return replace(later, finding=finding, reasons=reasons, candidates=candidates)


def _action(before: Iterable[str], after: Sequence[str], held: bool) -> Action:
    """A share that goes to another cluster is no relocation: the group is there and here, before and after."""
    if not after:
        return Action.WAIT
    if set(after) - set(before):
        return Action.PLACE
    if set(before) - set(after):
        return Action.REMOVE
    return Action.HOLD if held else Action.KEEP


def _steps(start: Replicas, wish: Replicas) -> int:
    """How many replicas a cluster is to get."""
    return sum(max(0, number - start.get(part, 0)) for part, number in wish.items())


def _on_the_way(start: Replicas, wish: Replicas, steps: int) -> dict[Part, int]:
    """What a cluster has when it got so many of them, one part after the other."""
    found = {part: start.get(part, 0) for part in wish}
    for part, number in sorted(wish.items()):
        more = min(steps, max(0, number - found[part]))
        found[part] += more
        steps -= more
    return found
