"""The benchmark runs, in its short form. What it measures is for people to read, not for a test to judge."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks import fleets, peers, plot, promises, results
from benchmarks.__main__ import main
from benchmarks.passes import Spent
from benchmarks.rows import ROWS, Sample
from gitplacer.model.workload import PodShape
from gitplacer.source.files import NoMemo
from gitplacer.source.reading import SourceObject, read_source
from gitplacer.tree import Tree
from tests.packing_quality import Amounts, Gang

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


def command(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A benchmark, as a user runs it in a clone."""
    return subprocess.run(
        [sys.executable, "-m", module, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


def cells(printed: str) -> list[list[str]]:
    """The rows of the tables that were printed, their heads among them."""
    lines = [line for line in printed.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def first_cells(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.returncode == 0, done.stderr
    return [row[0] for row in cells(done.stdout)]


@pytest.mark.slow
def test_the_benchmark_prints_and_keeps_a_row_for_each_sort_of_work(tmp_path: Path) -> None:
    size = ["--gangs", "6", "--clusters", "2", "--nodes", "80", "--runs", "1"]
    file = tmp_path / "now.json"
    done = command("benchmarks", *size, "--json", str(file))
    assert first_cells(done) == ["work", *(title for title, _ in ROWS.values())]
    assert done.stdout.startswith(results.measured_on(file).partition(";")[0])
    assert all(float(row[1].split()[0]) > 0 and float(row[3]) > 0 for row in cells(done.stdout)[1:])
    [point] = results.read(file)
    assert point.size == fleets.Size(6, 2, 80)
    assert 3 <= point.rows["planning"].more["placed"][0] <= 6
    assert all(point.rows[row].more["commits"][0] >= 1 for row in ("lost", "lost-watched"))
    assert 20 < point.rows["cold"].mib[0] < 1000


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--rows", "cold,hot"], "there is no row hot; rows are cold, planning, same"),
        (["--gangs", "10"], "takes --gangs, --clusters and --nodes"),
        (["--gangs", "9", "--clusters", "9", "--nodes", "9"], "9 clusters need at least 18 nodes"),
        (["--compare", "nowhere.json"], "nowhere.json cannot be read: No such file"),
        (["--compare", "README.md"], "README.md holds no results: write one with"),
        (["plot", "README.md", "-o", "x.svg"], "README.md holds no results"),
        (["--runs", "0"], "0 is not 1 or more"),
    ],
)
def test_a_benchmark_that_was_asked_wrongly_says_what_to_do(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert told in capsys.readouterr().err


# results


def point(gangs: int, seconds: list[float], mib: float) -> results.Point:
    samples = [Sample(Spent(taken, taken / 2, mib), 0.5, (("commits", 3),)) for taken in seconds]
    return results.Point.of(fleets.Size(gangs, gangs // 10, gangs * 10), [("cold", sample) for sample in samples])


def test_a_row_is_the_median_of_its_runs_with_the_least_and_the_most() -> None:
    row = cells("\n".join(results.table(point(100, [4.0, 1.0, 2.0], 70))))[-1]
    assert row == [ROWS["cold"][0], "2.00 (1.00–4.00)", "1.00", "0.5", "4.0", "70", "3 commits"]


def test_results_are_read_as_they_were_written_and_compared_with_what_is_new(tmp_path: Path) -> None:
    then, now = [point(100, [4.0], 70), point(1000, [9.0], 90)], [point(1000, [3.0, 3.0, 9.0], 45)]
    (tmp_path / "then.json").write_text(results.written(then, seed=1))
    read = results.read(tmp_path / "then.json")
    assert read == then
    assert cells("\n".join(results.compared(read, now)))[1:] == [
        ["1,000", ROWS["cold"][0], "9.00", "3.00", "0.33", "90", "45"]
    ]
    with pytest.raises(results.NoResult, match="no row was measured at the same size"):
        results.compared(then[:1], now)


def test_where_it_was_measured_stands_in_a_file_and_is_told_with_what_is_compared(tmp_path: Path) -> None:
    (tmp_path / "now.json").write_text(results.written([point(100, [4.0], 70)], seed=1))
    here = results.measured_on(tmp_path / "now.json")
    assert here.startswith(f"on {results.machine()['cores']} cores of ")
    assert f"numba {metadata.version('numba')}; a million additions in 0." in here
    assert "numba (not known); a million additions in 0.0293 seconds" in results.measured_on(DOCS / "performance.json")
    assert "no numba (pip install 'gitplacer[fast]'" in results.told({"numba": None})


def test_growth_is_told_in_times_of_linear() -> None:
    rows = cells("\n".join(results.growth([point(1000, [20.0], 140), point(100, [1.0], 70)])))
    assert rows[-1][1:] == ["100 → 1,000", "2.00", "0.20"]


def test_the_plot_has_a_line_for_each_row_and_needs_two_sizes() -> None:
    points = [point(100, [1.0], 70), point(1000, [20.0], 140), point(10_000, [300.0], 900)]
    drawn = ElementTree.fromstring(plot.drawing(points))
    space = "{http://www.w3.org/2000/svg}"
    heights = [float(dot.attrib["cy"]) for dot in drawn.iter(f"{space}circle")]
    assert len(heights) == 6  # a dot for each size in each panel
    assert heights[:3] == sorted(heights[:3], reverse=True)  # more is further up
    assert {text.text for text in drawn.iter(f"{space}text")} >= {"seconds", "MiB", "100", "10,000", "cold"}
    with pytest.raises(results.NoResult, match="at two sizes"):
        plot.drawing(points[:1])


def test_the_plot_has_room_for_every_row() -> None:
    points = [point(gangs, [float(gangs)], gangs) for gangs in (100, 1000)]
    for each in points:
        each.rows = dict.fromkeys(ROWS, each.rows["cold"])
    drawn = ElementTree.fromstring(plot.drawing(points))
    strokes = [
        path.attrib["stroke"] for path in drawn.iter("{http://www.w3.org/2000/svg}path") if "stroke" in path.attrib
    ]
    assert len(set(strokes)) == len(ROWS)


def test_the_page_says_and_draws_what_the_committed_results_say() -> None:
    points, page = results.read(DOCS / "performance.json"), (DOCS / "performance.md").read_text("utf-8")
    assert [line for each in points for line in results.table(each) if line not in page.splitlines()] == []
    assert plot.drawing(points) == (DOCS / "performance.svg").read_text("utf-8")


def test_numbers_beside_a_row_are_told_as_they_are_read() -> None:
    measured = results.Measured(
        [1.0], [1.0], [1.0], [1.0], {"gangs a second": [749.527], "seconds": [0.652915], "commits": [12.0]}
    )
    [*_, row] = results.table(results.Point(fleets.Size(1, 1, 1), {"cold": measured}))
    assert row.endswith("| 750 gangs a second, 0.65 seconds, 12 commits |")


# rules of others


GANG = Gang(Amounts(0, 2, 8), Amounts(4, 8, 32), 2)
"""A head, and two workers with four GPUs each."""
APART = {"a": [Amounts(3, 32, 128), Amounts(3, 32, 128), Amounts(2, 32, 128)]}
"""Eight GPUs are free, and no node has four."""
WHOLE = {"a": [Amounts(4, 32, 128), Amounts(4, 32, 128)]}


@pytest.mark.parametrize(
    ("rule", "apart", "whole"),
    [
        ("gitplacer", False, True),
        ("first-fit, node by node", False, True),
        ("per-node estimate, each component by itself", False, True),
        ("totals per cluster", True, True),
        ("scores alone, nothing is sized", True, True),
    ],
)
def test_totals_promise_what_is_free_only_in_pieces(rule: str, apart: bool, whole: bool) -> None:
    promised = promises.RULES[rule]
    assert promised(APART, [GANG]) == ({0: "a"} if apart else {})
    assert promised(WHOLE, [GANG]) == ({0: "a"} if whole else {})


def test_components_that_are_estimated_by_themselves_are_promised_the_same_room() -> None:
    """One node takes the head or a worker: each finds room, and not both."""
    gang, fleet = Gang(Amounts(0, 4, 8), Amounts(1, 4, 8), 1), {"a": [Amounts(1, 4, 8)]}
    rule = promises.RULES["per-node estimate, each component by itself"]
    assert rule(fleet, [gang]) == {0: "a"}
    [found] = peers.by_cluster(fleet, [gang], {0: "a"})
    assert list(promises.cannot_run(found)) == [0]


def test_who_cannot_run_is_who_finds_no_room_beside_those_before_it() -> None:
    small = Gang(Amounts(0, 2, 8), Amounts(1, 8, 32), 1)
    [found] = peers.by_cluster(WHOLE, [GANG, GANG, small], dict.fromkeys(range(3), "a"))
    assert list(promises.cannot_run(found)) == [1, 2]
    [alone] = peers.by_cluster(WHOLE, [GANG], {0: "a"})
    assert list(promises.cannot_run(alone)) == [] and promises.may_not_run(alone) == set()
    assert promises.may_not_run(found)  # whichever comes last


def test_gitplacer_promises_nothing_that_cannot_run_and_those_who_size_nothing_do() -> None:
    found = promises.studied([1])
    assert found["gitplacer"].promised > 0
    assert (found["gitplacer"].impossible, found["gitplacer"].unlucky) == (0, 0)
    assert found["scores alone, nothing is sized"].impossible > 0
    rows = cells("\n".join(promises.table(found)))
    assert [row[0] for row in rows[1:]] == [*promises.RULES]
    assert rows[1][2:4] == ["0 (0%)", "0 (0%)"]


# fleets


def test_the_same_seed_makes_the_same_fleet_and_another_makes_another() -> None:
    size = fleets.Size(30, 5, 60)
    assert fleets.files(size) == fleets.files(size)
    assert fleets.files(size) != fleets.files(size, seed=2)


def test_more_gangs_do_not_change_the_clusters() -> None:
    small, large = (fleets.files(fleets.Size(gangs, 12, 240)) for gangs in (30, 60))
    names = [path for path in small if path.startswith(("clusters/", "capacity/"))]
    assert len(names) == 24 and all(small[path] == large[path] for path in names)


@pytest.mark.parametrize("size", [fleets.Size(1, 1, 2), fleets.Size(5, 9, 18), *list(fleets.SIZES.values())[:3]])
def test_clusters_are_unequal_and_have_all_nodes_together(size: fleets.Size) -> None:
    nodes = fleets.sizes_of_clusters(size, random.Random(1))
    assert len(nodes) == size.clusters and sum(nodes) == size.nodes and min(nodes) >= 1
    if size.clusters >= 10:
        assert nodes[0] == size.nodes // 10 and max(nodes[1:]) > 3 * min(nodes[1:])


def test_a_fleet_is_valid_and_has_of_everything_that_fleets_have() -> None:
    size = fleets.Size(300, 20, 400)
    texts = fleets.files(size)
    read = read_source(Tree.of({path: text.encode() for path, text in texts.items()}), NoMemo())
    assert read.problems == ()
    text = "".join(texts.values())
    for wanted in ("kind: RayJob", "kind: RayService", "numOfHosts: 2", "google.com/tpu", "topology.kubernetes.io/zone: region",
                   "groupName: data", "-hub", "kind: Tenant"):  # fmt: skip
        assert wanted in text, wanted
    assert any(_used(texts, name, "nvidia.com/gpu") for name in texts if name.startswith("capacity/"))
    gangs = Counter(_shapes(item) for item in read.objects if item.facts.sized)
    assert sum(gangs.values()) == size.gangs
    assert sum(count for count in gangs.values() if count > 1) > size.gangs / 2  # copied from each other


def _used(texts: Mapping[str, str], name: str, resource: str) -> int:
    return sum(int(node["used"].get(resource, 0)) for node in json.loads(texts[name])["nodes"])


def _shapes(item: SourceObject) -> tuple[tuple[str, PodShape, int], ...]:
    return tuple((role.name, role.shape, role.count) for role in item.facts.roles)


@pytest.mark.slow
def test_the_sizing_benchmark_prints_a_row_for_each_sort_of_work() -> None:
    done = command("benchmarks.sizing", "--manifests", "20", "--runs", "1")
    assert first_cells(done) == ["work", "size and check", "size", "check", "size, with a line of why for every number"]


@pytest.mark.slow
def test_the_benchmark_of_hostile_files_says_what_is_refused() -> None:
    done = command("benchmarks.hostile", "--files", "20", "--runs", "1")
    assert {row[0]: row[4] for row in cells(done.stdout)[1:]} == {
        "a bomb of aliases": "TooManyAliases",
        "50 KB of nested brackets": "TooDeep",
        "depth through aliases": "TooDeep",
        "4 MiB of `[1,1,1`": "TooLarge",
        "the largest file that is accepted": "no",
        "a repo of 20 files": "no",
    }


@pytest.mark.slow
def test_the_benchmark_of_feasibility_prints_a_row_for_each_question() -> None:
    size = ["--clusters", "3", "--nodes", "30", "--runs", "1"]
    done = command("benchmarks.feasibility", *size)
    assert first_cells(done) == [
        "work",
        "ledgers and survey, from parsed snapshots",
        "feasibility of a gang, shapes never seen",
        "the same, with a node selector",
        "the same, a gang too large for every cluster",
        "feasibility of a gang, shapes known",
        "one reservation",
        "feasibility, ranking, packing and reservation of a gang",
    ]


@pytest.mark.slow
@pytest.mark.server
def test_the_benchmark_of_snapshots_prints_a_row_for_each_cluster() -> None:
    done = command("benchmarks.snapshot", "--nodes", "20", "--pods", "100")
    assert first_cells(done) == [
        "work",
        "read and decode the pages",
        "snapshot, nodes alike",
        "snapshot, no node like another",
    ]


@pytest.mark.slow
def test_the_benchmark_of_the_controller_prints_a_row() -> None:
    size = ["--gangs", "20", "--clusters", "2", "--nodes", "20", "--pushes", "2"]
    done = command("benchmarks.watch", *size)
    assert first_cells(done) == ["work", "hint to commit"]


@pytest.mark.slow
@pytest.mark.server
def test_a_short_soak_finds_rest_and_nothing_that_stays_open() -> None:
    """What grows slowly shows in the long form alone: there is no judging a slope by so few pushes."""
    done = command("benchmarks.soak", "--pushes", "6", "--samples", "2", "--apps", "3")
    assert "3 tips verified" in done.stdout, done.stdout + done.stderr
    rows = cells(done.stdout)
    what = {name: {row[column] for row in rows[1:]} for column, name in enumerate(rows[0])}
    assert what["pushes"] == {"3", "6"}
    assert what["children"] == what["temporary"] == {"0"} and len(what["threads"]) == 1
