"""
Consent: what an Approval allows, for which groups, and how often.

Tables say which Approval counts; the problems of bad ones are held against the page of their code by tests/test_docs.py.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gitplacer.kinds.approval import Approval
from gitplacer.kinds.parse import parse_own
from gitplacer.problems import Problem
from gitplacer.source.consent import Approvals, Consent, consent_problems, consent_to
from gitplacer.source.files import NoMemo
from gitplacer.source.reading import read_source
from gitplacer.tree import Tree
from tests.test_kinds import document

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
CLUSTERS = {"a": None, "b": None}
GROUPS = ("research/train", "research/eval", "web/site")


def consent(row: str) -> Consent:
    """An Approval written as `name action groups… [to=cluster] [at=hours from now] [because=word] [for=another|none]`, which is for which plan."""
    name, action, *rest = row.split()
    options = dict(part.split("=") for part in rest if "=" in part)
    groups = [part for part in rest if "=" not in part]
    expires = NOW + timedelta(hours=float(options.get("at", 1)))
    to = f"  to: {options['to']}\n" if "to" in options else ""
    because = f"  reason: {options['because']}\n" if "because" in options else ""
    wide = "*" in row or action == "Exceed"
    plan = f"  plan: sha256:{'0' * 64}\n" if wide and options.get("for") != "none" else ""
    text = (
        f"apiVersion: gitplacer.dev/v1alpha1\nkind: Approval\nmetadata: {{name: {name}}}\nspec:\n"
        f"  groups: {groups}\n  action: {action}\n{to}  expires: '{expires:%Y-%m-%dT%H:%M:%SZ}'\n{plan}{because}"
    )
    doc = document(text)
    parsed = parse_own(doc)
    assert isinstance(parsed, Approval), parsed
    return Consent(parsed, doc, is_to_this_plan="for" not in options)


def approvals(rows: str) -> Approvals:
    found = [consent(row) for row in rows.split("; ") if row]
    return Approvals(tuple(sorted(found, key=lambda item: item.approval.name)))


@pytest.mark.parametrize(
    ("rows", "asked", "counts"),
    [
        ("", "Move research/train", None),
        ("one Move research/train to=a", "Move research/train", "one"),
        ("one Move research/train", "Move research/train", "one"),
        ("one Move research/train to=a", "Return research/train", None),  # consent is to one thing
        ("one Return research/train", "Move research/train", None),
        ("one Remove */*", "Remove web/site", "one"),
        ("one Exceed web/* research/eval", "Exceed research/eval", "one"),
        ("one Exceed web/* research/eval", "Exceed research/train", None),
        ("one Move r*/t* to=a", "Move research/train", "one"),
        ("one Move */t to=a", "Move research/train", None),
        ("one Move */train for=another", "Move research/train", None),
        ("one Move research/trai? for=another", "Move research/train", None),
        ("one Move [r]esearch/train for=another", "Move research/train", None),
        ("one Move research/train for=another", "Move research/train", "one"),  # one group needs no plan
        ("one Exceed research/train for=another", "Exceed research/train", None),  # what exceeds the guards does
        ("one Move research/train at=720", "Move research/train", "one"),
        ("one Move research/train at=720.1", "Move research/train", None),  # consent is no setting
        ("one Move */train to=a at=0", "Move research/train", None),  # it ends at its date, not after it
        ("one Move */train to=a at=-1", "Move research/train", None),
        ("one Move */train to=a; two Move */train to=b", "Move research/train", None),  # which of them?
        ("one Move */train to=a; two Move */train to=b at=-1", "Move research/train", "one"),
        ("one Move */train to=a; two Move */train to=a", "Move research/train", "one"),
        ("one Move */train; two Move */train to=a", "Move research/train", "two"),  # to a place before to any
        ("one Move */train to=a; two Move */eval to=b", "Move research/train", "one"),
    ],
)  # fmt: skip
def test_consent_is_to_one_action_on_groups_it_names_until_it_expires(
    rows: str, asked: str, counts: str | None
) -> None:
    action, group = asked.split()
    found = consent_to(approvals(rows), group, action, NOW)  # type: ignore[arg-type]
    assert (found.approval.name if found else None) == counts


def test_who_names_a_group_is_found_in_the_order_of_names_however_it_is_named() -> None:
    all_ = approvals(
        "a Move web/site; b Move */site; c Move web/* web/site; d Remove web/sit?; e Move web/sit; f Move */*; g Move [w]eb/site"
    )
    assert [item.approval.name for item in all_.about("web/site")] == ["a", "b", "c", "d", "f", "g"]
    assert [item.approval.name for item in all_.about("research/train")] == ["f"]
    assert all_.about("web/other/site") == []


def test_consent_counts_once_and_the_next_one_then_counts() -> None:
    both = approvals("one Move */train to=a; two Move */train to=b")
    assert consent_to(both, "research/train", "Move", NOW, carried_out=[both[0].identity]) is both[1]
    assert consent_to(both, "research/train", "Move", NOW, carried_out=[item.identity for item in both]) is None


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ("one Move */train to=a", True),
        ("one Move */train to=a because=drill", True),  # other words, the same consent
        ("one Move */train to=b", False),
        ("one Move */train", False),
        ("one Move */train to=a at=2", False),
        ("one Move */train */eval to=a", False),
        ("two Move */train to=a", False),
    ],
)
def test_an_approval_is_known_by_its_name_and_by_what_it_consents_to(other: str, same: bool) -> None:
    assert (consent("one Move */train to=a").identity == consent(other).identity) is same


def problems(rows: str, carried_out: dict[str, tuple[str, ...]] | None = None) -> list[Problem]:
    return list(consent_problems(approvals(rows), CLUSTERS, GROUPS, carried_out or {}, NOW))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("one Move web/site to=a", []),
        ("one Move web/* to=a", []),
        (
            "one Move web/* to=a for=none",
            ["5:3 ApprovalNeedsPlan error Approval one has a pattern and names no plan, so it does not count"],
        ),
        (
            "one Exceed web/site for=none",
            ["5:3 ApprovalNeedsPlan error Approval one has action Exceed and names no plan, so it does not count"],
        ),
        (
            "one Move web/site to=a at=721",
            ["8:12 ApprovalTooLong warning Approval one would last until 2026-02-01T04:04:05Z, and does not count yet"],
        ),
        ("one Move web/site to=c", ["7:7 NoSuchCluster error there is no cluster c to move to"]),
        ("one Move web/sight to=a", ["5:12 NoSuchGroup warning no group is called web/sight"]),
        ("one Move web/site */nothing to=a", ["5:24 NoSuchGroup warning no group is called */nothing"]),
        ("one Move web/sight to=c at=-1", ["8:12 ApprovalExpired warning Approval one expired at 2026-01-02T02:04:05Z"]),
        (
            "one Move web/* to=a; two Move */site to=b",
            ["7:7 ApprovalsDisagree error Approvals send web/site to different clusters: one to a and two to b"],
        ),
        ("one Move web/* to=a; two Move */site to=a", []),
        ("one Move web/* to=a; two Move web/site", []),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_approval_is_said_with_its_line(rows: str, said: list[str]) -> None:
    found = problems(rows)
    assert [f"{p.location.line}:{p.location.column} {p.code} {p.severity} {p.message}" for p in found] == said


def test_approvals_that_were_carried_out_disagree_with_nothing() -> None:
    rows = "one Move web/* to=a; two Move web/site to=b"
    assert problems(rows) != []
    assert problems(rows, {"web/site": (approvals(rows)[0].identity,)}) == []


APPROVAL = """\
apiVersion: gitplacer.dev/v1alpha1
kind: Approval
metadata: {name: drill}
spec: {groups: ["web/*"], action: Move, to: a, expires: "2026-01-03T00:00:00Z"}
"""
FLEET = "apiVersion: gitplacer.dev/v1alpha1\nkind: Fleet\nmetadata: {name: f}\nspec: {}\n"


def approved(files: dict[str, str]) -> tuple[list[str], list[str]]:
    """The names of Approvals that a source holds, and the codes of its problems."""
    tree = Tree.of({"fleet.yaml": FLEET.encode(), **{path: text.encode() for path, text in files.items()}})
    source = read_source(tree, NoMemo())
    return [item.approval.name for item in source.own.approvals], [problem.code for problem in source.problems]


@pytest.mark.parametrize(
    ("files", "names", "codes"),
    [
        ({"approvals/drill.yaml": APPROVAL}, ["drill"], []),
        ({"anywhere.yml": APPROVAL}, ["drill"], []),
        ({"workloads/web/drill.yaml": APPROVAL}, [], ["OwnKindInWorkloads"]),  # a tenant does not approve for others
        ({"a.yaml": APPROVAL, "b.yaml": APPROVAL.replace("to: a", "to: b")}, [], ["DuplicateName"]),
        ({"a.yaml": APPROVAL.replace("Move", "Mvoe")}, [], ["InvalidValue"]),
        ({"a.yaml": APPROVAL.replace("kind: Approval", "kind: Aproval")}, [], ["UnknownKind"]),
        ({"a.yaml": APPROVAL + "\t"}, [], ["TabIndentation"]),
    ],
)
def test_only_what_is_written_once_well_and_outside_the_workloads_is_consent(
    files: dict[str, str], names: list[str], codes: list[str]
) -> None:
    assert approved(files) == (names, codes)
