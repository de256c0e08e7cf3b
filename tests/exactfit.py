"""
Can all pods of a gang be placed at all, by any assignment in any order? An exact answer, for the tests.

Given a case (as `schedulerjudge` takes it), CP-SAT looks for how many pods of each class go on each node. Three
kinds of filter do not depend on the order and are constraints as they stand: what a class and a node say alone,
resources and ports, and anti-affinity (which forbids the same pairs whoever comes first). Two kinds depend on it,
spread and pod affinity. For them the model holds what every order must satisfy in the end:

- spread: the last pod of a class to enter a domain found at least its own kind there and at most the final minimum
  elsewhere, so `before + own - final minimum <= maxSkew`;
- affinity: the first pod of a class on a node found company that was there before the gang or came before it, or
  there was none of that company anywhere and it was one of them itself (the clock is a variable of the model).

So "no" from the solver is final. A "yes" is only an idea: an order is searched for it with a search of its own
and the pod-by-pod replay of `schedulerjudge` has the last word. An assignment without an order is forbidden
and the solver asked again. Work is bounded in steps, never in seconds; `None` means the bound was reached.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from ortools.sat.python import cp_model

from tests import schedulerjudge as judge

STEPS = 20_000  # of the search for an order, per assignment
ASSIGNMENTS = 40  # without an order, before giving up
EFFORT = 20.0  # of the solver, in its deterministic unit: about a second each

Counts = Mapping[tuple[int, str], int]


@dataclass(frozen=True)
class Exact:
    """`feasible` is None where the bound was reached; a placement is in an order that the filters accept."""

    feasible: bool | None
    placement: dict[str, str] | None = None
    assignments: int = 0


@dataclass(frozen=True)
class _SpreadRule:
    """A constraint of one class: the domain of each node that counts, and the classes whose pods are counted."""

    owner: int
    max_skew: int
    domain: Mapping[str, str]
    before: Mapping[str, int]
    counted: frozenset[int]
    counts_itself: bool
    least_is_zero: bool


class _Problem:
    """A case in classes of identical pods, with what each class and each node say alone."""

    def __init__(self, case: judge.Json) -> None:
        self.case = case
        self.cluster = judge.Cluster(case)
        self.names = judge.classes(case)
        self.kinds = [self.cluster.pods[names[0]] for names in self.names]
        self.nodes = list(self.cluster.nodes.values())
        self.allowed = {(c, node.name) for c, kind in enumerate(self.kinds) for node in self._may_hold(kind)}
        self.spread = [rule for c in range(len(self.kinds)) for rule in self._spread_rules(c)]

    def _may_hold(self, kind: judge.Pod) -> Iterator[judge.Node]:
        """The nodes that pass the filters on the starting state which later pods cannot loosen; spread and affinity come later."""
        keys = [spread.key for spread in kind.spread] + [term.topology_key for term in kind.affinity]
        for node, alone in self.cluster.refusals(_without_order_rules(kind)):
            if alone is None and all(key in node.labels for key in keys):
                yield node

    def _spread_rules(self, owner: int) -> Iterator[_SpreadRule]:
        kind = self.kinds[owner]
        for spread, before in zip(kind.spread, judge.domains(kind, self.nodes), strict=True):
            counted = frozenset(
                c
                for c, other in enumerate(self.kinds)
                if other.namespace == kind.namespace
                and not judge.is_empty(spread.selector)
                and judge.selects(spread.selector, other.labels)
            )
            yield _SpreadRule(
                owner=owner,
                max_skew=spread.max_skew,
                domain={
                    node.name: node.labels[spread.key]
                    for node in self.nodes
                    if all(s.key in node.labels for s in kind.spread) and judge.counts_for(spread, kind, node)
                },
                before=before,
                counted=counted,
                counts_itself=judge.selects(spread.selector, kind.labels),
                least_is_zero=len(before) < spread.min_domains,
            )

    def wants(self, one: int, other: int) -> bool:
        """Does a pod of class `other` satisfy every affinity term of class `one`?"""
        return all(self.cluster.concerns(t, self.kinds[other]) for t in self.kinds[one].affinity)


def _without_order_rules(pod: judge.Pod) -> judge.Pod:
    values: dict[str, Any] = {name: getattr(pod, name) for name in pod.__dataclass_fields__}
    return judge.Pod(**{**values, "spread": (), "affinity": ()})


def _by_domain(nodes: Iterable[judge.Node], key: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for node in nodes:
        if key in node.labels:
            found[node.labels[key]].append(node.name)
    return found


class _Model:
    """The CP-SAT model: `x` counts pods of a class on a node, `y` says whether there is any."""

    def __init__(self, problem: _Problem) -> None:
        self.problem = problem
        self.model = cp_model.CpModel()
        self.x: dict[tuple[int, str], cp_model.IntVar] = {}
        self._any: dict[tuple[int, str], cp_model.IntVar] = {}
        self._times: dict[tuple[int, str], cp_model.IntVar] = {}
        self._earlier: dict[tuple[tuple[int, str], tuple[int, str]], cp_model.IntVar] = {}
        for c, names in enumerate(problem.names):
            for node in problem.nodes:
                if (c, node.name) in problem.allowed:
                    self.x[c, node.name] = self.model.new_int_var(0, len(names), f"x{c}@{node.name}")
            self.model.add(sum(self.x[k] for k in self.x if k[0] == c) == len(names))
        self._resources()
        self._ports()
        self._anti_affinity()
        for rule in problem.spread:
            self._spread(rule)
        for c, kind in enumerate(problem.kinds):
            if kind.affinity:
                self._affinity(c)

    def _some(self, c: int, name: str) -> cp_model.IntVar:
        """Is there a pod of the class on the node?"""
        if (c, name) not in self._any:
            flag = self.model.new_bool_var(f"y{c}@{name}")
            self.model.add(self.x[c, name] >= 1).only_enforce_if(flag)
            self.model.add(self.x[c, name] == 0).only_enforce_if(~flag)
            self._any[c, name] = flag
        return self._any[c, name]

    def _here(self, c: int, names: Iterable[str]) -> list[str]:
        return [name for name in names if (c, name) in self.x]

    def _resources(self) -> None:
        for node in self.problem.nodes:
            mine = [(c, self.x[c, node.name]) for c in range(len(self.problem.kinds)) if (c, node.name) in self.x]
            slots = max(0, node.allocatable.get("pods", 0) - len(node.pods))
            self.model.add(sum(x for _, x in mine) <= slots)
            for resource in {r for c, _ in mine for r in self.problem.kinds[c].asks}:
                asked = [(self.problem.kinds[c].asks.get(resource, 0), x) for c, x in mine]
                asked = [(amount, x) for amount, x in asked if amount > 0]
                if not asked:
                    continue
                free = max(0, node.allocatable.get(resource, 0) - node.used[resource])
                unit = math.gcd(*(amount for amount, _ in asked))
                self.model.add(sum(amount // unit * x for amount, x in asked) <= free // unit)

    def _ports(self) -> None:
        kinds = self.problem.kinds
        for node in self.problem.nodes:
            mine = [c for c in range(len(kinds)) if (c, node.name) in self.x and kinds[c].ports]
            for c in mine:
                self.model.add(self.x[c, node.name] <= 1)
            for c, d in combinations(mine, 2):
                if judge.ports_clash(kinds[c].ports, kinds[d].ports):
                    self.model.add(self.x[c, node.name] + self.x[d, node.name] <= 1)

    def _anti_affinity(self) -> None:
        kinds = self.problem.kinds
        for c, kind in enumerate(kinds):
            for term in kind.anti_affinity:
                against = [d for d, other in enumerate(kinds) if self.problem.cluster.concerns(term, other)]
                for names in _by_domain(self.problem.nodes, term.topology_key).values():
                    for d in against:
                        if d == c:
                            self.model.add(sum(self.x[c, n] for n in self._here(c, names)) <= 1)
                            continue
                        for one in self._here(c, names):
                            for other in self._here(d, names):
                                self.model.add_bool_or([~self._some(c, one), ~self._some(d, other)])

    def _spread(self, rule: _SpreadRule) -> None:
        everyone = sum(map(len, self.problem.names)) + sum(rule.before.values())
        final = {}
        for value, before in rule.before.items():
            names = [name for name, domain in rule.domain.items() if domain == value]
            final[value] = before + sum(self.x[d, n] for d in rule.counted for n in self._here(d, names))
        least = self.model.new_int_var(0, everyone, "least")
        if rule.least_is_zero:
            self.model.add(least == 0)
        else:
            for total in final.values():
                self.model.add(least <= total)
        for value, before in rule.before.items():
            mine = self._here(rule.owner, [name for name, domain in rule.domain.items() if domain == value])
            own = sum(self.x[rule.owner, name] for name in mine) if rule.counts_itself else 0
            for name in mine:
                self.model.add(before + own - least <= rule.max_skew).only_enforce_if(self._some(rule.owner, name))

    def _first(self, c: int, name: str) -> cp_model.IntVar:
        """When the first pod of the class came to the node, on a clock of as many ticks as needed."""
        if (c, name) not in self._times:
            self._times[c, name] = self.model.new_int_var(0, len(self.x), f"t{c}@{name}")
        return self._times[c, name]

    def _came_before(self, one: tuple[int, str], other: tuple[int, str]) -> cp_model.IntVar:
        """There is one, and it was there before the other."""
        if (one, other) not in self._earlier:
            flag = self.model.new_bool_var(f"{one} before {other}")
            self.model.add_implication(flag, self._some(*one))
            self.model.add(self._first(*one) + 1 <= self._first(*other)).only_enforce_if(flag)
            self._earlier[one, other] = flag
        return self._earlier[one, other]

    def _affinity(self, c: int) -> None:
        """Whoever came first to a node, of those who want company, found it; all later ones of the class find it too."""
        kind, problem = self.problem.kinds[c], self.problem
        there = problem.cluster.neighbours(kind).wanted
        keys = {term.topology_key for term in kind.affinity}
        company = [(d, n) for d, n in self.x if problem.wants(c, d) and keys & set(problem.cluster.nodes[n].labels)]
        for mine in [key for key in self.x if key[0] == c]:
            others = [key for key in company if key != mine]
            founds = self.model.new_bool_var(f"{mine} founds")
            if there or not problem.wants(c, c):
                self.model.add(founds == 0)
            for other in others:
                self.model.add(self._first(*mine) + 1 <= self._first(*other)).only_enforce_if(
                    [founds, self._some(*other)]
                )
            labels = problem.cluster.nodes[mine[1]].labels
            for key in keys:
                if there[key, labels[key]] > 0:
                    continue
                near = [o for o in others if problem.cluster.nodes[o[1]].labels.get(key) == labels[key]]
                reasons = [self._came_before(other, mine) for other in near]
                self.model.add_bool_or([~self._some(*mine), founds, *reasons])

    def forbid(self, counts: Counts) -> None:
        """Not this assignment again."""
        differs = []
        for key, x in self.x.items():
            less, more = self.model.new_bool_var(""), self.model.new_bool_var("")
            self.model.add(x <= counts.get(key, 0) - 1).only_enforce_if(less)
            self.model.add(x >= counts.get(key, 0) + 1).only_enforce_if(more)
            differs += [less, more]
        self.model.add_bool_or(differs)

    def solve(self) -> dict[tuple[int, str], int] | bool | None:
        """Counts, or False where there are none, or None where the effort ran out."""
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 1
        solver.parameters.max_deterministic_time = EFFORT
        status = solver.solve(self.model)
        if status == cp_model.INFEASIBLE:
            return False
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return None
        return {key: solver.value(x) for key, x in self.x.items() if solver.value(x)}


class _OrderSearch:
    """Depth first, over how many of each (class, node) are placed; states that led nowhere are not tried twice."""

    def __init__(self, problem: _Problem, counts: Counts) -> None:
        self.problem = problem
        self.counts = dict(counts)
        self.keys = sorted(counts)
        self.steps = 0
        self.dead: set[tuple[int, ...]] = set()
        self.ran_out = False

    def find(self) -> list[tuple[int, str]] | None:
        return self._from(tuple(0 for _ in self.keys), [])

    def _from(self, done: tuple[int, ...], order: list[tuple[int, str]]) -> list[tuple[int, str]] | None:
        trail = [(done, self._moves(done))]
        while trail:
            done, moves = trail[-1]
            if all(n == self.counts[key] for n, key in zip(done, self.keys, strict=True)):
                return order
            step = next(moves, None)
            self.steps += 1
            if self.steps > STEPS:
                self.ran_out = True
                return None
            if step is None:
                self.dead.add(done)
                trail.pop()
                if order:
                    order.pop()
                continue
            after = tuple(n + (i == step) for i, n in enumerate(done))
            if after not in self.dead:
                order.append(self.keys[step])
                trail.append((after, self._moves(after)))
        return None

    def _moves(self, done: tuple[int, ...]) -> Iterator[int]:
        """What may be placed next: first where the counted domain is lowest, founders of a series before all."""
        placed = {key: n for key, n in zip(self.keys, done, strict=True) if n}
        open_ = [i for i, key in enumerate(self.keys) if done[i] < self.counts[key]]
        ranked = sorted(((self._rank(self.keys[i], placed), i) for i in open_), key=lambda pair: pair[0])
        return iter([i for rank, i in ranked if rank is not None and self._may(self.keys[i], placed)])

    def _fill(self, rule: _SpreadRule, placed: Counts) -> dict[str, int]:
        found = dict(rule.before)
        for (c, name), n in placed.items():
            if c in rule.counted and name in rule.domain:
                found[rule.domain[name]] += n
        return found

    def _rank(self, key: tuple[int, str], placed: Counts) -> tuple[int, int]:
        c, name = key
        lowest = 0
        for rule in self.problem.spread:
            if c in rule.counted and name in rule.domain:
                lowest = max(lowest, self._fill(rule, placed)[rule.domain[name]])
        return (0 if self.problem.kinds[c].affinity and not placed else 1, lowest)

    def _may(self, key: tuple[int, str], placed: Counts) -> bool:
        c, name = key
        problem = self.problem
        for rule in problem.spread:
            if rule.owner != c:
                continue
            fill = self._fill(rule, placed)
            least = 0 if rule.least_is_zero else min(fill.values())
            if fill[rule.domain[name]] + int(rule.counts_itself) - least > rule.max_skew:
                return False
        kind = problem.kinds[c]
        if not kind.affinity:
            return True
        there = problem.cluster.neighbours(kind).wanted
        for (d, other), n in placed.items():
            if problem.wants(c, d):
                for term in kind.affinity:
                    labels = problem.cluster.nodes[other].labels
                    if term.topology_key in labels:
                        there[term.topology_key, labels[term.topology_key]] += n
        labels = problem.cluster.nodes[name].labels
        if all(there[term.topology_key, labels[term.topology_key]] > 0 for term in kind.affinity):
            return True
        return not there and problem.wants(c, c)


def _named(problem: _Problem, order: Iterable[tuple[int, str]]) -> dict[str, str]:
    left = [iter(names) for names in problem.names]
    return {next(left[c]): node for c, node in order}


def solve(case: judge.Json) -> Exact:
    """Is there an assignment and an order in which the filters accept every pod? With one such, if there is."""
    problem = _Problem(case)
    model = _Model(problem)
    complete = True
    for tried in range(1, ASSIGNMENTS + 1):
        counts = model.solve()
        if counts is None:
            return Exact(None, assignments=tried)
        if isinstance(counts, bool):
            return Exact(False if complete else None, assignments=tried)
        search = _OrderSearch(problem, counts)
        order = search.find()
        if order is not None:
            placement = _named(problem, order)
            refusal = judge.replay(case, placement)
            if refusal is not None:
                raise AssertionError(f"the two judges disagree: {refusal}")
            return Exact(True, placement, tried)
        complete = complete and not search.ran_out
        model.forbid(counts)
    return Exact(None, assignments=ASSIGNMENTS)


def search(case: judge.Json, steps: int = 200_000) -> bool | None:
    """
    The same question without a solver: try every pod on every node, in every order, with the filters alone.

    For cases of a few pods; it judges `solve`. Identical pods are taken in turn, and states seen before skipped.
    """
    kinds = judge.classes(case)
    cluster = judge.Cluster(case)
    seen: set[frozenset[tuple[int, str, int]]] = set()
    left = steps

    def go(done: tuple[int, ...], where: dict[tuple[int, str], int]) -> bool | None:
        nonlocal left
        if all(n == len(names) for n, names in zip(done, kinds, strict=True)):
            return True
        state = frozenset((c, name, n) for (c, name), n in where.items() if n)
        if state in seen:
            return False
        seen.add(state)
        for c, names in enumerate(kinds):
            if done[c] == len(names):
                continue
            pod = cluster.pods[names[done[c]]]
            for node in [node for node, why in cluster.refusals(pod) if why is None]:
                left -= 1
                if left < 0:
                    return None
                node.add(pod)
                where[c, node.name] = where.get((c, node.name), 0) + 1
                answer = go(tuple(n + (i == c) for i, n in enumerate(done)), where)
                where[c, node.name] -= 1
                node.remove(pod)
                if answer is not False:
                    return answer
        return False

    return go(tuple(0 for _ in kinds), {})
