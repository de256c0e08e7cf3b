"""
Policies that govern nothing: what is said of them, and that it is never said wrongly.

The laws: what a selection is proved to imply it implies for every object, and a policy that is called shadowed governs none, as the
function says that decides who governs. The judges of patterns are those that match them: `fnmatch` and `pathglob`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gitplacer import pathglob
from gitplacer.hydrate import hydrate
from gitplacer.kinds.policy import PlacementPolicy, PlacementPolicySpec
from gitplacer.kinds.selectors import LabelRequirement, LabelSelector, Metadata, ObjectSelector
from gitplacer.model.labels import NAME_KEY
from gitplacer.model.workload import Identity
from gitplacer.policies import implication
from gitplacer.policies.idle import first_shadow, idle_policies
from gitplacer.policies.implication import implies, never_selects
from gitplacer.policies.selection import governing, selects
from gitplacer.source.files import NoMemo
from gitplacer.source.manifests import SourceObject
from gitplacer.source.tenancy import Tenancy
from gitplacer.workloads.facts import ObjectFacts
from tests.stories import FLEET, Story, cluster, policy, rayjob, rayservice

_GLOBS = ["a", "b", "*", "a*", "*b", "?", "??", "a?", "*a*", "[ab]", "[ab]*", "[!a]", "[!]", "[]", "a*b"]
_PATHS = ["a.y", "a/b.y", "a/a/b.y", "b/a.y"]
_PATH_GLOBS = ["**", "a/**", "*", "*/*", "a/*", "**/b.y", "a/**/b.y", "?.y", "{x}/*", "a.y", "a/b.y"]
_VALUES = ["x", "y", "z"]

LABELS = st.dictionaries(st.sampled_from(["k", "l"]), st.sampled_from(_VALUES), max_size=2)
_MORE = st.one_of(
    st.builds(LabelRequirement, key=st.sampled_from(["k", "l"]), operator=st.sampled_from(["Exists", "DoesNotExist"])),
    st.builds(
        LabelRequirement, key=st.sampled_from(["k", "l"]), operator=st.sampled_from(["In", "NotIn"]),
        values=st.lists(st.sampled_from(_VALUES), min_size=1, max_size=2, unique=True).map(tuple),
    ),
)  # fmt: skip
_NAMED = st.builds(
    LabelRequirement, key=st.just(NAME_KEY), operator=st.sampled_from(["In", "NotIn"]),
    values=st.lists(st.sampled_from(["a", "b", "ab"]), min_size=1, max_size=2, unique=True).map(tuple),
)  # fmt: skip


def _selectors(more: st.SearchStrategy[LabelRequirement]) -> st.SearchStrategy[LabelSelector]:
    return st.builds(LabelSelector, match_labels=LABELS, match_expressions=st.lists(more, max_size=2).map(tuple))


def _lists(of: list[str]) -> st.SearchStrategy[tuple[str, ...] | None]:
    return st.none() | st.lists(st.sampled_from(of), max_size=2, unique=True).map(tuple)


_NO_LABELS = st.just(LabelSelector())
SELECTIONS = st.builds(
    ObjectSelector,
    namespaces=_lists(_GLOBS), kinds=_lists(_GLOBS), names=st.none(), paths=_lists(_PATH_GLOBS),
    label_selector=_NO_LABELS | _selectors(_MORE), namespace_selector=_NO_LABELS | _selectors(_MORE | _NAMED),
)  # fmt: skip


class _At:
    """Where an object stands, for those who only ask for the file."""

    def __init__(self, file: str) -> None:
        self.file = file


OBJECTS = [
    SourceObject(Identity("", kind, namespace, "n"), _At(path), "workloads", labels, {}, ObjectFacts())  # type: ignore[arg-type]
    for kind, namespace, path, labels in itertools.product(
        ["a", "ab", "ba"], ["", "a", "ab", "b"], _PATHS, [{}, {"k": "x"}, {"k": "y"}, {"k": "x", "l": "z"}, {"l": "x"}]
    )
]
"""All sorts of objects, each of which a law is held against."""


@st.composite
def pairs(draw: st.DrawFn) -> tuple[ObjectSelector, ObjectSelector]:
    """Two selections; often one is the other with more conditions, because two at random seldom imply each other."""
    one, other = draw(SELECTIONS), draw(SELECTIONS)
    if draw(st.integers(0, 3)):
        free = [f for f in ("namespaces", "kinds", "paths") if getattr(other, f) is None]
        free += [f for f in ("label_selector", "namespace_selector") if not getattr(other, f).requirements()]
        one = other.model_copy(update={field: getattr(one, field) for field in free})
    return one, other


def of_namespaces(labels: dict[str, str]):  # type: ignore[no-untyped-def]
    """Every namespace has these labels, and its name."""
    return lambda name: {**labels, NAME_KEY: name}


@given(pairs(), LABELS)
@settings(deadline=None, max_examples=150)
def test_what_a_selection_implies_it_implies_for_every_object(
    pair: tuple[ObjectSelector, ObjectSelector], labels: dict[str, str]
) -> None:
    narrow, wide = pair
    known = of_namespaces(labels)
    if implies(narrow, wide):
        assert [i for i in OBJECTS if selects(narrow, i, known) and not selects(wide, i, known)] == []
    if never_selects(narrow):
        assert [i for i in OBJECTS if selects(narrow, i, known)] == []


@given(st.lists(st.tuples(pairs(), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=2), LABELS)
@settings(deadline=None, max_examples=60)
def test_a_policy_that_is_called_shadowed_governs_nothing(
    made: list[tuple[tuple[ObjectSelector, ObjectSelector], int, int]], labels: dict[str, str]
) -> None:
    known = of_namespaces(labels)
    rows = [row for (narrow, wide), low, high in made for row in ((narrow, low), (wide, high))]
    policies = [
        PlacementPolicy(
            api_version="gitplacer.dev/v1alpha1", kind="PlacementPolicy", metadata=Metadata(name=f"p{number}"),
            spec=PlacementPolicySpec(select=select, precedence=precedence),
        )
        for number, (select, precedence) in enumerate(rows)
    ]  # fmt: skip
    shadowed = {policy.name for policy in policies if first_shadow(policy, policies) is not None}
    for item in OBJECTS if shadowed else ():
        matching = [p for p in policies if selects(p.spec.select, item, known)]
        highest = max((p.spec.precedence for p in matching), default=0)
        if sum(p.spec.precedence == highest for p in matching) <= 1:  # else it is ambiguous, and needs a real document
            found = governing(item, policies, (), known, Tenancy()).policy
            assert found is None or found.name not in shadowed


def words(alphabet: str, longest: int) -> Iterator[str]:
    for length in range(longest + 1):
        yield from map("".join, itertools.product(alphabet, repeat=length))


@given(st.text("ab*?", max_size=4), st.text("ab*?", max_size=4))
@settings(deadline=None, max_examples=80)
def test_one_pattern_within_another_is_what_matching_says(narrow: str, wide: str) -> None:
    matching = [word for word in words("abc", 6) if pathglob.name_matches_any([narrow], word)]
    inside = all(pathglob.name_matches_any([wide], word) for word in matching)
    assert implication._within(narrow, wide, implication._name_steps) is inside


@given(st.lists(st.sampled_from(["a", "b", "*", "?", "**/", "/", "**", "{x}"]), min_size=1, max_size=4), st.data())
@settings(deadline=None, max_examples=80)
def test_one_path_pattern_within_another_is_what_matching_says(parts: list[str], data: st.DataObject) -> None:
    pieces = ["a", "b", "*", "?", "**/", "/", "**", "{y}"]
    wide = "".join(data.draw(st.lists(st.sampled_from(pieces), min_size=1, max_size=4)))
    narrow = "".join(parts)
    assume(narrow.count("{") < 2 and wide.count("{") < 2)
    assume(all(narrow.split("/")) and all(wide.split("/")))  # a pattern with an empty part is refused
    matching = [word for word in words("ac/", 6) if pathglob.matches(narrow.replace("b", "c"), word)]
    inside = all(pathglob.matches(wide.replace("b", "c"), word) for word in matching)
    proved = implication._within(narrow.replace("b", "c"), wide.replace("b", "c"), implication._path_steps)
    assert proved is inside


@pytest.mark.parametrize(
    ("narrow", "wide", "proved"),
    [
        ("namespaces: [team-a]", "namespaces: [team-*]", True),
        ("namespaces: [team-a, team-b]", "namespaces: [team-*]", True),
        ("namespaces: [team-*]", "namespaces: [team-a]", False),
        ("kinds: [RayJob]", "", True),
        ("", "kinds: ['*']", True),
        ("", "namespaces: ['*']", False),  # an object without a namespace
        ("namespaceSelector: {matchLabels: {a: b}}", "namespaces: ['*']", True),
        ("namespaces: [x]", "namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: x}}", True),
        ("namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: x}}", "namespaces: [x]", True),
        ("paths: ['workloads/a/**']", "paths: ['workloads/**']", True),
        ("paths: ['workloads/*/x.yaml']", "paths: ['workloads/*']", False),
        ("labelSelector: {matchLabels: {a: b}}", "labelSelector: {matchExpressions: [{key: a, operator: Exists}]}", True),
        ("labelSelector: {matchLabels: {a: b}}", "labelSelector: {matchExpressions: [{key: a, operator: In, values: [b, c]}]}", True),
        ("labelSelector: {matchLabels: {a: b}}", "labelSelector: {matchExpressions: [{key: a, operator: NotIn, values: [c]}]}", True),
        ("labelSelector: {matchExpressions: [{key: a, operator: DoesNotExist}]}", "labelSelector: {matchExpressions: [{key: a, operator: NotIn, values: [c]}]}", True),
        ("labelSelector: {matchExpressions: [{key: a, operator: Exists}]}", "labelSelector: {matchLabels: {a: b}}", False),
    ],
)  # fmt: skip
def test_implication_finds_what_people_write(narrow: str, wide: str, proved: bool) -> None:
    low = policy("narrow", f"precedence: -1\nselect: {{{narrow}}}")
    found = [p.message for p in idle(low, policy("wide", f"select: {{{wide}}}")) if p.code == "PolicyShadowed"]
    assert [message.startswith("policy narrow is shadowed: wide (policies/wide.yaml:1:1) selects all") for message in found] == (
        [True] if proved else []
    )  # fmt: skip


# what is told


def idle(*parts: dict[str, str]):  # type: ignore[no-untyped-def]
    """What is told of policies in a fleet with one app in namespace x, on clusters a and b."""
    story = Story.of(
        {"fleet.yaml": FLEET}, cluster("a"), cluster("b", labels="{tier: gold}"), cluster("hub", role="Management")
    )
    for part in parts:
        story.source.update(part)
    return idle_policies(hydrate(story.inputs()).snapshot.source, NoMemo())


def said(*parts: dict[str, str]) -> list[str]:
    return [f"{p.location}: {p.code}: {p.message}" for p in idle(rayservice("x", "shop"), *parts)]


ALL = policy("all", "select: {}")


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("select: {namespaces: [x]}\nprecedence: 1", None),
        ("select: {namespaces: [z]}\nprecedence: 1", "5:3: PolicySelectsNothing: policy p selects nothing that is in the source"),
        ("select: {kinds: []}", "5:3: PolicySelectsNothing: policy p can never select anything: its conditions contradict each other"),
        (
            "select:\n  labelSelector:\n    matchLabels: {a: b}\n    matchExpressions: [{key: a, operator: DoesNotExist}]",
            "5:3: PolicySelectsNothing: policy p can never select anything: its conditions contradict each other",
        ),
        (
            "select: {namespaces: [z]}\nprecedence: -1",
            "5:3: PolicyShadowed: policy p is shadowed: all (policies/all.yaml:1:1) selects all that it selects, and comes first",
        ),
        (
            "select: {namespaces: [z]}",
            "5:3: PolicyShadowed: policy p is shadowed: all (policies/all.yaml:1:1) selects all that it selects, with equal precedence",
        ),
        (
            "select: {}\nprecedence: 1\nclusters: {matchLabels: {tier: silver}}",
            "7:3: SelectsNoCluster: policy p may place nothing: no Workload cluster is selected by its `clusters`",
        ),
        (
            "select: {}\nprecedence: 1\nclusters: {names: [hub]}",
            "7:3: SelectsNoCluster: policy p may place nothing: no Workload cluster is selected by its `clusters`",
        ),
        (
            "select: {}\nprecedence: 1\nclusters: {names: [a, bb]}",
            "7:25: SelectsNoCluster: policy p names bb, and there is no such Workload cluster",
        ),
        (
            "select: {}\nprecedence: 1\nplacement: {type: Ordered, order: [{names: [b, aa]}]}",
            "7:50: SelectsNoCluster: term 1 of the order of policy p names aa, and there is no such Workload cluster",
        ),
        (
            "select: {}\nprecedence: 1\nplacement: {type: Ordered, order: [{names: [a]}, {names: [c]}, {}]}",
            "7:52: SelectsNoCluster: term 2 of the order of policy p selects no cluster",
        ),
        (
            "select: {}\nprecedence: 1\nclusters: {names: [a]}\nplacement: {type: Ordered, order: [{names: [a]}, {names: [b]}]}",
            "8:52: SelectsNoCluster: term 2 of the order of policy p selects b, which its `clusters` leave out",
        ),
    ],
)  # fmt: skip
def test_what_is_idle_is_told_with_its_place(spec: str, told: str | None) -> None:
    beside = {} if "precedence: 1" in spec else ALL
    found = [line for line in said(beside, policy("p", spec)) if "policies/p.yaml" in line]
    assert found == ([f"policies/p.yaml:{told}"] if told else [])


def test_a_policy_may_be_shadowed_by_several_that_none_of_them_covers() -> None:
    one, two = (
        policy(name, f"precedence: 1\nselect: {{kinds: [{kind}]}}")
        for name, kind in (("one", "RayService"), ("two", "RayJob"))
    )
    both = policy("both", "select: {namespaces: [x]}")
    assert said(rayjob("x", "train"), one, two, both) == [
        "policies/both.yaml:5:3: PolicyShadowed: policy both governs nothing: it selects 2 objects, all governed by one and two"
    ]  # fmt: skip


def test_a_policy_that_an_object_chooses_is_not_idle() -> None:
    chosen = {
        path: text.replace("labels: {}", "annotations: {gitplacer.dev/policy: p}")
        for path, text in rayservice("x", "shop").items()
    }
    low = policy("p", "precedence: -1\nselect: {namespaces: [x]}")
    assert [p.message.split(" ")[1] for p in idle(chosen, ALL, low)] == ["all"]
    assert [p.message.split(" ")[1] for p in idle(rayservice("x", "shop"), ALL, low)] == ["p"]


def test_overrides_that_touch_nothing_are_told() -> None:
    text = (
        "apiVersion: gitplacer.dev/v1alpha1\nkind: OverridePolicy\nmetadata: {name: o}\nspec:\n  select: {kinds: [RayJob]}\n"
        "  clusters: {names: [aa]}\n  overrides: [{path: /metadata/labels, op: add, value: {a: b}}]\n"
    )
    assert said(ALL, {"policies/o.yaml": text}) == [
        "policies/o.yaml:5:3: OverrideTouchesNothing: override o touches nothing that is in the source",
        "policies/o.yaml:6:3: SelectsNoCluster: override o is for no cluster of the fleet",
    ]
    one = text.replace("[aa]", "[a, bb]").replace("RayJob", "RayService")
    assert said(ALL, {"policies/o.yaml": one}) == [
        "policies/o.yaml:6:25: SelectsNoCluster: override o names bb, and there is no such Workload cluster"
    ]
    never = text.replace("{kinds: [RayJob]}", "{kinds: []}").replace("[aa]", "[a]")
    assert said(ALL, {"policies/o.yaml": never}) == [
        "policies/o.yaml:5:3: OverrideTouchesNothing: override o can never touch anything: its conditions contradict each other"
    ]


def test_what_is_meant_to_be_idle_may_be_allowed_with_a_reason() -> None:
    later = policy("later", "precedence: 1\nselect: {namespaces: [later]}")
    named = "metadata: {name: later}"
    for reason, count in (("the team starts in May", 0), ("", 1)):
        allowed = f"metadata: {{name: later, annotations: {{allow.gitplacer.dev/PolicySelectsNothing: '{reason}'}}}}"
        text = {path: text.replace(named, allowed) for path, text in later.items()}
        assert len(said(ALL, text)) == count


def test_none_of_it_is_told_in_a_pass() -> None:
    story = Story.of(
        {"fleet.yaml": FLEET}, cluster("a"), ALL, policy("p", "precedence: -1\nselect: {}"), rayservice("x", "shop")
    )
    assert not [p for p in hydrate(story.inputs()).problems if p.code == "PolicyShadowed"]
