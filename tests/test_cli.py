"""The command line: what is printed where, exit codes, and that no mistake ends in a traceback."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from gitplacer import __version__
from gitplacer.cli import COMMANDS
from gitplacer.problems import Rejected
from gitplacer.source import files
from tests.commands import NOW, commit, git, make_bare, make_repo, run, run_apart, starter, write

Capture = pytest.CaptureFixture[str]
HEAVY = ("numpy", "pydantic", "yaml", "rich", "ruamel", "sqlite3")


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "fleet", starter())


@pytest.fixture
def deployment(tmp_path: Path) -> Path:
    return make_bare(tmp_path / "deployment.git")


def drain(fleet: Path) -> None:
    path = fleet / "clusters/my-cluster.yaml"
    path.write_text(path.read_text().replace("state: Active", "state: Draining"))


# help


def test_help_names_every_command(capfd: Capture) -> None:
    ran = run(capfd, "--help")
    assert ran.code == 0
    for name, line in COMMANDS.items():
        assert f"{name}  " in ran.out
        assert line in ran.out


def test_no_command_is_a_wish_for_help(capfd: Capture) -> None:
    assert run(capfd) == run(capfd, "--help")


def test_version(capfd: Capture) -> None:
    assert run(capfd, "--version").out == f"gitplacer {__version__}\n"


@pytest.mark.parametrize("args", [(), *((name,) for name in COMMANDS)])
def test_help_loads_nothing_heavy(args: tuple[str, ...]) -> None:
    code = (
        "import sys; from gitplacer.cli import main; code = main(sys.argv[1:]);"
        f"print('LOADED', [name for name in {HEAVY} if name in sys.modules]); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code, *args, "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("LOADED []\n")


def test_the_line_in_help_is_the_first_of_the_commands_own_help(capfd: Capture) -> None:
    for name in COMMANDS:
        assert run(capfd, name, "--help").out.startswith(f"Usage: gitplacer {name} ")


# mistakes


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["paln"], 'there is no command "paln"; did you mean "plan"?'),
        (["--frob"], "No such option"),
        (["plan", "--frob"], "No such option"),
        (["plan", "a", "b"], "unexpected extra argument"),
        (["plan", "nowhere"], "there is no directory nowhere"),
        (["plan", "--format", "yaml"], "'yaml' is not one of 'text', 'markdown', 'json'\n"),
        (["plan", "--format", "jsno"], """'jsno' is not one of 'text', 'markdown', 'json'; did you mean "json"?"""),
        (["plan", "--fail-on", "waiting,bored"], '"bored" is none of waiting, relocated, removed, stale, problems\n'),
        (["plan", "--fail-on", "waitng"], '"waitng" is none of waiting, relocated, removed, stale, problems; did you mean "waiting"?'),
        (["bootstrap", "Flux"], """'Flux' is not one of 'argocd', 'flux'; did you mean "flux"?"""),
        (["comment", "--host", "gitub"], """; did you mean "github"?"""),
        (["snapshot", "--hub", "karmda"], """; did you mean "karmada"?"""),
        (["reconcile", "--log-level", "inof"], """; did you mean "info"?"""),
        (["plan", "--now", "yesterday"], "--now yesterday is not a time"),
        (["plan", "--now", "0001-01-01T00:00:00+14:00"], "--now 0001-01-01T00:00:00+14:00 is not a time"),
        (["plan", "--now", "1969-12-31T23:59:59Z"], "--now 1969-12-31T23:59:59Z is a time that no commit has"),
        (["plan", "--now", "9999-12-31T23:59:59Z"], "--now 9999-12-31T23:59:59Z is a time that no commit has"),
        (["plan", "--path", "../.."], "leaves the repository"),
        (["plan", "--path", "nowhere", "{fleet}"], "nowhere"),
        (["plan", "--rev", "nowhere", "{fleet}"], "has no revision nowhere"),
        (["plan", "--rev", "--upload-pack=x", "{fleet}"], "--upload-pack=x"),
        (["plan", "--rev", "main", "{empty}"], "is not in a git repository"),
        (["plan", "--deployment", "ext::sh -c x", "{fleet}"], "run programs and are not allowed"),
        (["plan", "--deployment", "{empty}", "{fleet}"], "is not in a git repository"),
        (["plan", "--deployment", "http://example.com/x", "{fleet}"], "is not encrypted"),
        (["plan", "--capacity", "{empty}/nowhere", "{fleet}"], "there is no directory"),
        (["plan", "{empty}"], "Fleet"),
        (["plan", ""], "a repository address cannot be empty"),
        (["explain"], "Missing argument 'GROUP'"),
        (["explain", "hello/helo", "{fleet}"], 'there is no group "hello/helo"'),
        (["explain", "\x1b[31mred", "{fleet}"], "there is no group"),
        (["status", "nowhere"], "there is no directory nowhere"),
        (["validate", "{fleet}/fleet.yaml"], "/fleet.yaml is no directory"),
        (["validate", "nowhere"], "there is no directory nowhere"),
        (["validate", "--deployment", "x", "{fleet}"], "No such option"),
        (["reconcile", "{fleet}"], "nobody said where the deployment repo is"),
        (["reconcile", "{empty}", "--deployment", "{deployment}"], "is not in a git repository"),
        (["reconcile", "{fleet}", "--deployment", "{fleet}"], "the source and the deployment repo are both"),
        (["reconcile", "{unborn}", "--deployment", "{deployment}"], "has no commit"),
        (["reconcile", "{fleet}", "--deployment", "{sha256}"], "error[UnsupportedObjectFormat]: "),
        (["schema", "Flet"], 'there is no kind "Flet"'),
        (["init"], "Missing argument 'DIR'"),
        (["init", "{fleet}"], "is not empty"),
        (["init", "{fleet}/fleet.yaml"], "is a file"),
        (["init", "{fleet}/fleet.yaml/below"], "Not a directory"),
        (["init", "{empty}", "--engine", "jenkins"], "'jenkins' is not one of 'argocd', 'flux'"),
        (["demo", "--dir", "{empty}"], "is there already"),
        (["demo", "--dir", "{fleet}/fleet.yaml/below"], "Not a directory"),
    ],
)  # fmt: skip
def test_a_mistake_is_said_in_a_line_and_ends_with_1(
    capfd: Capture, tmp_path: Path, fleet: Path, deployment: Path, args: list[str], said: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "unborn").mkdir()
    git(tmp_path / "unborn", "init", "-q")
    git(tmp_path, "init", "-q", "--bare", "--object-format=sha256", "sha256")
    places = {name: str(tmp_path / name) for name in ("fleet", "empty", "unborn", "sha256")}
    given = [arg.format(**places, deployment=deployment) for arg in args]
    ran = run(capfd, *given)
    assert ran.code == 1
    assert said in ran.err
    assert ran.out == ""
    assert "Traceback" not in ran.err
    assert "\x1b" not in ran.err
    assert not git(tmp_path / "deployment.git", "for-each-ref")


@pytest.mark.parametrize("command", [["plan"], ["comment", "pages"], ["tell"]])
@pytest.mark.parametrize("comment_id", ["-->", "a b", "ü", "x" * 64, "a\n", "-a", "a/b"])
def test_an_id_that_could_end_the_marker_of_a_comment_is_refused(
    capfd: Capture, command: list[str], comment_id: str
) -> None:
    ran = run(capfd, *command, f"--comment-id={comment_id}")
    assert (ran.code, ran.out) == (1, "")
    assert "cannot be the id of a comment\n  hint: take letters, digits, dots, dashes and underscores" in ran.err


def test_a_command_line_mistake_says_which_help_to_read(capfd: Capture) -> None:
    assert run(capfd, "plan", "--frob").err.endswith("  hint: `gitplacer plan --help` shows what can be given\n")


def test_a_bug_is_called_one_and_shows_its_traceback_only_on_request(
    capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise ZeroDivisionError("the flux\nis too low")

    monkeypatch.setattr("gitplacer.kinds.schema.combined_schema", broken)
    ran = run(capfd, "schema")
    assert ran.code == 1
    assert ran.err == (
        "error: internal error: ZeroDivisionError: the flux is too low\n"
        "  hint: this is a bug in gitplacer, please report it; GITPLACER_DEBUG=1 shows the traceback\n"
    )
    monkeypatch.setenv("GITPLACER_DEBUG", "1")
    assert "Traceback (most recent call last)" in run(capfd, "schema").err


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (KeyboardInterrupt(), "interrupted"),
        (
            MemoryError(),
            "error: there is not enough memory for this\n  hint: give it more memory, or less to read at a time",
        ),
        (RecursionError("too deep"), "internal error: RecursionError"),
        (
            PermissionError(13, "Permission denied", "/x/y"),
            "error: /x/y: Permission denied\n  hint: check its permissions",
        ),
        (OSError(28, "No space left on device"), "error: No space left on device"),
        (Rejected([]), ""),
    ],
)
def test_whatever_happens_is_one_message(
    capfd: Capture, monkeypatch: pytest.MonkeyPatch, error: BaseException, said: str
) -> None:
    def broken() -> None:
        raise error

    monkeypatch.setattr("gitplacer.kinds.schema.combined_schema", broken)
    ran = run(capfd, "schema")
    assert ran.code == 1
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_what_stops_a_run_is_told_last(capfd: Capture, tmp_path: Path) -> None:
    """A directory that is no fleet may be full of links, each of which is a warning."""
    for name in ("a", "z"):
        (tmp_path / f"{name}.yaml").symlink_to("/nowhere")
    ran = run(capfd, "plan", tmp_path)
    problems = [line for line in ran.err.splitlines() if not line.startswith("  hint")]
    assert [line.partition(":")[0] for line in problems[-3:]] == ["a.yaml", "z.yaml", "fleet.yaml"]
    assert problems[-1].endswith("there is no Fleet in this source")


def test_a_reader_that_leaves_early_is_no_error_worth_a_word() -> None:
    """It ends as what SIGPIPE ends."""
    code = "import sys; from gitplacer.cli import main; sys.exit(main(['schema']))"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no /dev/full")
@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("schema", "stdout"),
        ("suspend hello/* {fleet} --diff", "stdout"),
        ("report -o /dev/full {fleet}", "/dev/full"),
    ],
)
def test_of_a_full_disk_is_said_what_could_not_be_written(command: str, named: str, fleet: Path) -> None:
    args = command.format(fleet=fleet).split()
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "gitplacer", *args], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    (*_, said, hint) = done.stderr.splitlines()
    assert said == f"error: {named}: No space left on device" and hint == "  hint: make room there, or write elsewhere"
    assert done.returncode == 1


@pytest.mark.parametrize("command", ["report -o out {fleet}", "init out --cluster a --yes", "demo --dir out"])
def test_what_cannot_be_written_is_named_as_it_was_asked_for(
    command: str, fleet: Path, tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not as the file or folder that is made beside it first."""

    def refused(prefix: str, dir: Path) -> object:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(dir / f"{prefix}x1y2z3"))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.mkstemp", refused)
    monkeypatch.setattr("tempfile.mkdtemp", refused)
    ran = run(capfd, *command.format(fleet=fleet).split())
    (*_, said, hint) = ran.err.splitlines()
    assert said.startswith("error: out") and said.removesuffix(": Read-only file system") in (
        "error: out",
        "error: out/fleet",
    )
    assert (ran.code, hint) == (1, "  hint: write elsewhere")
    assert not (tmp_path / "out").exists()


def test_a_file_that_may_not_be_replaced_is_named_and_nothing_is_left_beside(
    fleet: Path, tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As somebody else's in a folder like /tmp, where one may write a file and not replace that one."""
    (tmp_path / "out.html").write_text("theirs")

    def refused(beside: Path, target: Path) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), str(beside), None, str(target))

    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.iterdir())
    monkeypatch.setattr(Path, "replace", refused)
    ran = run(capfd, "report", "-o", "out.html", str(fleet))
    assert ran.code == 1 and "error: out.html: Operation not permitted" in ran.err
    assert set(tmp_path.iterdir()) == before and (tmp_path / "out.html").read_text() == "theirs"


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="has no /dev/zero")
@pytest.mark.parametrize(
    "command",
    [
        "size /dev/zero",
        "size {big}",
        "size {fleet} --cluster {big}",
        "room --catalogue {big} {fleet}",
        "snapshot --from {big}",
    ],
)
def test_a_file_has_a_bound_also_where_it_has_no_end(command: str, fleet: Path, tmp_path: Path, capfd: Capture) -> None:
    big = tmp_path / "big.yaml"
    with big.open("wb") as file:
        file.truncate(1 << 40)
    ran = run(capfd, *command.format(fleet=fleet, big=big).split())
    assert ran.code == 1 and f": more than {files.MAX_SNAPSHOT:,} bytes\n  hint: split it\n" in ran.err


@pytest.mark.parametrize("command", ["size {top}", "import nova {top} -o {out}"])
def test_a_directory_that_cannot_be_looked_into_is_told(
    command: str, tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = tmp_path / "top"
    write(top, {"a.yaml": "{}", "shut/b.yaml": "{}"})
    listed = os.scandir

    def scandir(path: str) -> object:
        if os.fspath(path).endswith("shut"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    ran = run(capfd, *command.format(top=top, out=tmp_path / "out").split())
    assert ran.code == 1 and f"error: {top}/shut: Permission denied" in ran.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no /dev/full")
@pytest.mark.parametrize("to", ["/dev/full", "a closed pipe"])
def test_what_has_landed_has_landed_though_it_could_not_be_told(to: str, fleet: Path, deployment: Path) -> None:
    command = [sys.executable, "-m", "gitplacer", "reconcile", "--deployment", str(deployment), str(fleet)]
    if to == "/dev/full":
        stdout = os.open(to, os.O_WRONLY)
    else:
        nobody, stdout = os.pipe()
        os.close(nobody)
    done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)
    os.close(stdout)
    tip = git(deployment, "rev-parse", "main").strip()
    assert done.returncode == 0
    assert f"{tip} is published, but that could not be written: " in done.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_a_standard_file_that_is_closed_is_as_dev_null(closed: str, fleet: Path, deployment: Path) -> None:
    def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-m", "gitplacer", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = ran("reconcile", "--deployment", str(deployment), str(fleet))
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    assert git(deployment, "rev-parse", "main")
    assert ran("validate", str(fleet)).returncode == 0


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize("command", ["plan {fleet}", "validate {fleet}", "schema Fleet"])
def test_where_nobody_reads_any_more_it_ends_as_git_does(command: str, stream: str, fleet: Path) -> None:
    """As after `| head -1`: 128 and SIGPIPE, without a word, because exit code 1 is an error that stderr tells."""
    nobody, closed = os.pipe()
    os.close(nobody)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: closed}
    program = [sys.executable, "-m", "gitplacer", *command.format(fleet=fleet).split()]
    done = subprocess.run(program, text=True, check=False, **pipes)
    os.close(closed)
    writes = {"plan {fleet}": ("stdout", "stderr"), "validate {fleet}": ("stderr",), "schema Fleet": ("stdout",)}
    assert done.returncode == (141 if stream in writes[command] else 0)
    assert "error" not in (done.stderr or "")


def test_a_terminal_without_arrows_gets_escapes(fleet: Path) -> None:
    ran = run_apart("plan", fleet, PYTHONIOENCODING="latin-1")
    assert ran.code == 0
    assert "hello/hello  \\u2192 my-cluster" in ran.out


# validate


def test_a_good_fleet_has_no_problems(capfd: Capture, fleet: Path) -> None:
    ran = run(capfd, "validate", fleet)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == f"reading the work tree {fleet} as it lies; --rev reads a commit\nno problems\n"


def test_files_that_a_sparse_checkout_leaves_out_are_told_to_be_left_out(capfd: Capture, fleet: Path) -> None:
    git(fleet, "sparse-checkout", "set", "--no-cone", "/*", "!/policies/")
    assert not (fleet / "policies").exists()
    told = "git sparse-checkout leaves out 1 file of it, as if deleted; --rev HEAD reads all of them"
    assert told in run(capfd, "validate", fleet).err
    assert "leaves out" not in run(capfd, "validate", "--rev", "HEAD", fleet).err
    git(fleet, "sparse-checkout", "set", "--no-cone", "/*", "!/README.md")
    git(fleet, "sparse-checkout", "disable")
    assert "leaves out" not in run(capfd, "validate", fleet).err


def test_a_folder_of_a_fleet_is_told_to_be_one(capfd: Capture, fleet: Path, tmp_path: Path) -> None:
    """As for whoever works in `workloads/` and gives no directory."""
    (fleet / "workloads/hello").mkdir(parents=True, exist_ok=True)
    told = f"there is a fleet.yaml in {fleet}: give that folder"
    for command in (["validate"], ["plan"], ["explain", "hello/hello"]):
        ran = run(capfd, *command, fleet / "workloads/hello")
        assert (ran.code, told in ran.err) == (1, True)
    (tmp_path / "fleet.yaml").write_text("")
    assert "there is a fleet.yaml" not in run(capfd, "validate", fleet).err


BROKEN = {
    "policies/b.yaml": "apiVersion: gitplacer.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: b}\nspec:\n  selekt: {}\n",
    "policies/a.yaml": "kind: [\n",
    "capacity/other.yaml": (
        "apiVersion: gitplacer.dev/v1alpha1\nkind: CapacitySnapshot\nmetadata: {name: other}\n"
        'observedAt: "2026-01-01T00:00:00Z"\nnodes: []\n'
    ),
}


def test_a_pipe_among_manifests_is_told_and_is_no_removal(capfd: Capture, fleet: Path, deployment: Path) -> None:
    assert run(capfd, "reconcile", fleet, "--deployment", deployment).code == 0
    (manifest,) = (fleet / "workloads").rglob("*.yaml")
    manifest.unlink()
    os.mkfifo(manifest)
    ran = run(capfd, "plan", fleet, "--deployment", deployment, "--format", "json")
    told = json.loads(ran.out)
    assert [(problem["code"], problem["file"]) for problem in told["problems"]] == [
        ("NotAFile", manifest.relative_to(fleet).as_posix())
    ]
    assert told["summary"]["Remove"] == 0


def test_problems_of_source_and_capacity_come_together_sorted_and_with_hints(capfd: Capture, fleet: Path) -> None:
    write(fleet, {**BROKEN, "workloads/hello/x.yaml": "apiVersion: v1\nkind: [\n"})
    ran = run(capfd, "validate", fleet)
    assert ran.code == 1
    places = [line.split(": ")[0] for line in ran.out.splitlines() if not line.startswith("  ")]
    assert places == sorted(places)
    assert any(place.startswith("capacity/other.yaml:3:") for place in places)
    assert any(place.startswith("policies/b.yaml:5:3") for place in places)
    assert any(place.startswith("workloads/hello/x.yaml:") for place in places)
    assert '  hint: did you mean "select"?\n' in ran.out
    assert "capacity/other.yaml:3:18: warning: there is no Cluster other in the source" in ran.out
    assert ran.err.splitlines()[-1].endswith(" errors, 1 warning")


def test_warnings_alone_do_not_fail(capfd: Capture, fleet: Path) -> None:
    write(fleet, {"capacity/other.yaml": BROKEN["capacity/other.yaml"]})
    ran = run(capfd, "validate", fleet)
    assert ran.code == 0
    assert ran.err.endswith("\n0 errors, 1 warning\n")


def test_problems_as_json(capfd: Capture, fleet: Path) -> None:
    write(fleet, {"policies/b.yaml": BROKEN["policies/b.yaml"]})
    ran = run(capfd, "validate", fleet, "--format", "json")
    document = json.loads(ran.out)
    found = [p for p in document["problems"] if p["code"] == "UnknownField"]
    assert found == [
        {
            "severity": "error",
            "code": "UnknownField",
            "file": "policies/b.yaml",
            "line": 5,
            "column": 3,
            "message": found[0]["message"],
            "hint": 'did you mean "select"?',
        }
    ]


def test_annotations_are_placed_from_the_root_of_the_repository(capfd: Capture, tmp_path: Path) -> None:
    files = {
        f"teams/a/{path}": data for path, data in {**starter(), "policies/b.yaml": BROKEN["policies/b.yaml"]}.items()
    }
    repo = make_repo(tmp_path / "mono", files)
    by_path = run(capfd, "validate", repo, "--path", "teams/a", "--format", "github")
    by_folder = run(capfd, "validate", repo / "teams/a", "--format", "github")
    assert by_path.out == by_folder.out
    assert "::error file=teams/a/policies/b.yaml,line=5,col=3,title=UnknownField::" in by_path.out
    assert by_path.code == 1


def test_a_source_without_a_fleet_is_told_in_the_format_asked_for(capfd: Capture, tmp_path: Path) -> None:
    ran = run(capfd, "validate", tmp_path, "--format", "json")
    assert ran.code == 1
    assert [problem["severity"] for problem in json.loads(ran.out)["problems"]] == ["error"]
    assert ran.err.endswith("\n1 error, 0 warnings\n")


def test_a_revision_is_read_instead_of_the_work_tree(capfd: Capture, fleet: Path) -> None:
    write(fleet, BROKEN)
    ran = run(capfd, "validate", fleet, "--rev", "HEAD")
    assert (ran.code, ran.err) == (0, "no problems\n")


def test_a_bare_source_is_read_at_its_default_branch(capfd: Capture, fleet: Path, tmp_path: Path) -> None:
    bare = make_bare(tmp_path / "fleet.git")
    git(fleet, "push", "-q", str(bare), "main")
    assert run(capfd, "validate", bare).err == "no problems\n"


def test_source_is_the_current_directory_by_default(
    capfd: Capture, fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(fleet)
    assert run(capfd, "validate").code == 0
    assert run(capfd, "plan").out.startswith("Place\n  + hello/hello  → my-cluster")


def test_a_current_directory_that_is_gone_is_named(
    capfd: Capture, fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    for args in (["plan"], ["plan", fleet], ["validate", fleet]):
        ran = run(capfd, *args)
        assert (ran.code, ran.out) == (1, "")
        assert ran.err == "error: the current directory is not there any more\n  hint: cd to one that is\n"


# plan


def test_a_plan_places_what_is_new_and_says_that_nothing_is_placed_yet(capfd: Capture, fleet: Path) -> None:
    ran = run(capfd, "plan", fleet, "--now", NOW)
    assert ran.code == 0
    assert "  + hello/hello  → my-cluster  fits\n" in ran.out
    assert ran.out.splitlines()[-1].startswith("1 placed, ")
    assert "no --deployment given, so nothing is placed yet" in ran.err
    assert "\x1b" not in ran.out


@pytest.mark.parametrize(
    "command",
    [
        ["plan"], ["simulate", "--lose", "my-cluster"], ["blast", "--base", "HEAD"], ["drain", "my-cluster"],
        ["move", "hello/hello", "--to", "other"], ["suspend", "hello/*"], ["suspend", "hello/*", "--diff"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_deployment_repo_that_only_the_fleet_names_is_told_but_not_opened(
    capfd: Capture, fleet: Path, command: list[str]
) -> None:
    path = fleet / "fleet.yaml"
    path.write_text(
        path.read_text().replace("    branch: main", "    url: https://nowhere.invalid/x\n    branch: main")
    )
    git(fleet, "commit", "--quiet", "--all", "--message", "Name the deployment repo")
    ran = run(capfd, *command, fleet)
    assert "no --deployment given, so " in ran.err
    assert "; the Fleet names https://nowhere.invalid/x" in ran.err


@pytest.mark.slow
def test_a_plan_is_the_same_where_python_leaves_out_its_assertions(fleet: Path, deployment: Path) -> None:
    where = (fleet, "--deployment", deployment, "--now", NOW)
    assert run_apart("reconcile", *where).code == 0
    manifest, policy = fleet / "workloads/hello/raycluster.yaml", fleet / "policies/general.yaml"
    larger = re.sub("(replicas|maxReplicas): 1$", r"\1: 3", manifest.read_text(), flags=re.M)
    manifest.write_text(larger.replace('cpu: "1"', 'cpu: "3500m"'))
    policy.write_text(f"{policy.read_text()}  update: {{ifNotFit: Hold}}\n")
    assert "maxReplicas: 3" in manifest.read_text()
    planned, optimised = (run_apart("plan", *where, PYTHONOPTIMIZE=level) for level in ("", "1"))
    assert "there is no room for that: 1 of 2 worker/workers fit" in planned.out
    assert optimised == planned


def test_a_plan_as_json_keeps_its_schema(capfd: Capture, fleet: Path) -> None:
    plan = json.loads(run(capfd, "plan", fleet, "--format", "json", "--now", NOW).out)
    schema = json.loads(run(capfd, "schema", "Plan").out)
    jsonschema.Draft202012Validator(schema).validate(plan)
    assert plan["summary"]["Place"] == 1
    lines = run(capfd, "plan", fleet, "--format", "json", "--all", "--now", NOW).out.splitlines()
    assert [json.loads(line).get("group") for line in lines] == [None, "hello/hello"]


def test_a_plan_as_markdown(capfd: Capture, fleet: Path) -> None:
    assert run(capfd, "plan", fleet, "--format", "markdown").out.startswith("<!-- gitplacer:plan -->\n")


def test_exit_codes_of_plan(capfd: Capture, fleet: Path, deployment: Path) -> None:
    where = (fleet, "--deployment", deployment)
    assert run(capfd, "plan", *where).code == 0
    assert run(capfd, "plan", *where, "--exit-code").code == 2
    assert run(capfd, "reconcile", *where).code == 0
    assert run(capfd, "plan", *where, "--exit-code").code == 0


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (
            {"workloads/hello/raycluster.yaml": ('requests: {cpu: "1", memory', 'requests: {cpu: "64", memory')},
            "waiting",
        ),
        ({"clusters/my-cluster.yaml": ("  state: Active", "  maxAge: 1m")}, "stale"),
        ({"policies/general.yaml": ("  select:", "  selekt: {}\n  select:")}, "problems"),
    ],
)
def test_fail_on_names_what_it_failed_on(
    capfd: Capture, fleet: Path, change: dict[str, tuple[str, str]], word: str
) -> None:
    everything = "waiting,relocated,removed,stale,problems"
    assert run(capfd, "plan", fleet, "--fail-on", everything).code == 0
    for path, (old, new) in change.items():
        text = (fleet / path).read_text()
        assert old in text
        write(fleet, {path: text.replace(old, new).replace('limits: {cpu: "1"', 'limits: {cpu: "64"')})
    ran = run(capfd, "plan", fleet, "--fail-on", everything, "--exit-code")
    assert ran.code == 3
    assert word in ran.err.splitlines()[-1].removeprefix("failed on: ").split(", ")
    others = ",".join(w for w in everything.split(",") if w not in ran.err.splitlines()[-1])
    assert run(capfd, "plan", fleet, "--fail-on", others).code == 0


def test_fail_on_removed_and_relocated(capfd: Capture, fleet: Path, deployment: Path) -> None:
    where = (fleet, "--deployment", deployment)
    run(capfd, "reconcile", *where)
    second = starter()["clusters/my-cluster.yaml"].replace(b"my-cluster", b"other")
    capacity = starter()["capacity/my-cluster.yaml"].replace(b"my-cluster", b"other")
    write(fleet, {"clusters/other.yaml": second, "capacity/other.yaml": capacity})
    drain(fleet)
    assert run(capfd, "plan", *where, "--fail-on", "relocated").err.endswith("failed on: relocated\n")
    (fleet / "workloads/hello/raycluster.yaml").unlink()
    assert run(capfd, "plan", *where, "--fail-on", "relocated,removed").err.endswith("failed on: removed\n")


def test_what_was_rejected_is_printed_on_stderr_whole(capfd: Capture, fleet: Path) -> None:
    write(
        fleet,
        {
            "clusters/bad.yaml": "apiVersion: gitplacer.dev/v1alpha1\nkind: Cluster\nmetadata: {name: b}\nspec: {a: 1, c: 2}\n"
        },
    )
    ran = run(capfd, "plan", fleet, "--format", "json")
    assert (ran.code, ran.out) == (1, "")
    assert "clusters/bad.yaml:4:8: " in ran.err
    assert "clusters/bad.yaml:4:14: " in ran.err


def test_deployment_may_come_from_the_environment(
    capfd: Capture, fleet: Path, deployment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITPLACER_DEPLOYMENT", str(deployment))
    assert run(capfd, "reconcile", fleet).out.startswith("Published  ")
    monkeypatch.setenv("GITPLACER_DEPLOYMENT", "")
    assert "no --deployment given" in run(capfd, "plan", fleet).err


# explain, status


def test_explain_shows_every_clusters_verdict(capfd: Capture, fleet: Path) -> None:
    ran = run(capfd, "explain", "hello/hello", fleet)
    assert ran.code == 0
    assert "my-cluster  Chosen  Fits" in ran.out


def test_status_as_text_and_json(capfd: Capture, fleet: Path, deployment: Path) -> None:
    where = (fleet, "--deployment", deployment)
    run(capfd, "reconcile", *where)
    assert "hello/hello  my-cluster" in run(capfd, "status", *where).out
    assert isinstance(json.loads(run(capfd, "status", *where, "--format", "json").out), dict)


# reconcile


def test_reconcile_publishes_and_then_has_nothing_to_do(capfd: Capture, fleet: Path, deployment: Path) -> None:
    where = (fleet, "--deployment", deployment, "--now", NOW)
    ran = run(capfd, "reconcile", *where)
    tip = git(deployment, "rev-parse", "main").strip()
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"Published  {tip} to {deployment}, branch main\n  Place hello/hello\n"
    assert "clusters/my-cluster/workloads/hello/hello/raycluster.yaml" in git(
        deployment, "ls-tree", "-r", "--name-only", "main"
    )
    ran = run(capfd, "reconcile", *where)
    assert (ran.code, ran.out, ran.err) == (0, f"Unchanged  {tip} at {deployment}, branch main\n", "")


def test_reconcile_reads_commits_only_and_says_so(capfd: Capture, fleet: Path, deployment: Path) -> None:
    where = (fleet, "--deployment", deployment)
    run(capfd, "reconcile", *where)
    (fleet / "workloads/hello/raycluster.yaml").unlink()
    ran = run(capfd, "reconcile", *where)
    assert ran.out.startswith("Unchanged  ")
    assert ran.err == f"{fleet} has changes that are not committed; only commits are read\n"
    commit(fleet, "Remove it")
    ran = run(capfd, "reconcile", *where)
    assert ran.out.endswith("\n  Remove hello/hello\n")
    assert ran.err == ""


def test_a_pass_that_holds_a_group_lands_and_is_no_error(capfd: Capture, fleet: Path, deployment: Path) -> None:
    where = (fleet, "--deployment", deployment)
    run(capfd, "reconcile", *where)
    drain(fleet)
    write(fleet, {"workloads/hello/broken.yaml": "kind: [\n"})
    commit(fleet, "Drain")
    ran = run(capfd, "reconcile", *where)
    assert ran.code == 0
    assert "workloads/hello/broken.yaml:" in ran.err
    assert ran.err.endswith("1 held (hello/hello): `gitplacer explain GROUP` says why, `gitplacer plan` names all\n")


def test_a_source_that_is_a_file_url_is_not_reached(capfd: Capture, fleet: Path, deployment: Path) -> None:
    ran = run(capfd, "reconcile", f"file://{fleet}", "--deployment", deployment)
    assert (ran.code, ran.out) == (1, "")
    assert "file:// addresses are not allowed" in ran.err


# schema


@pytest.mark.parametrize(
    "kind",
    [
        "Fleet",
        "Cluster",
        "PlacementPolicy",
        "OverridePolicy",
        "Approval",
        "WorkloadKind",
        "CapacitySnapshot",
        "Placement",
        "Plan",
    ],
)
def test_a_kinds_schema_is_a_valid_schema(capfd: Capture, kind: str) -> None:
    schema = json.loads(run(capfd, "schema", kind).out)
    assert schema["title"] == kind
    jsonschema.Draft202012Validator.check_schema(schema)


def test_without_a_kind_it_is_the_combined_schema(capfd: Capture) -> None:
    schema = json.loads(run(capfd, "schema").out)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert jsonschema.Draft202012Validator(schema).is_valid({"apiVersion": "v1", "kind": "ConfigMap"})


# colour and progress


@pytest.mark.parametrize(
    ("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_colour_is_for_terminals_that_want_it(
    capfd: Capture, fleet: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], coloured: bool
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    from gitplacer.cli import progress

    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert (progress.style()("x", "green") != "x") is coloured


NODE = "{apiVersion: v1, kind: Node, metadata: {name: a}}"
SEEN = "apiVersion: gitplacer.dev/v1alpha1\nkind: CapacitySnapshot\nmetadata: {name: my-cluster}\nobservedAt: 2026-01-02T03:04:05Z\n"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (f"{NODE}\n", "move it elsewhere, or let `gitplacer snapshot -o FILE` write one"),
        (
            f"apiVersion: v1\nkind: List\nitems: [{NODE}, {NODE}]\n",
            "move it elsewhere, or let `gitplacer snapshot -o FILE` write one",
        ),
        (f"{SEEN}---\n{SEEN}", "give each a file of its own"),
    ],
    ids=["a node", "what kubectl prints", "two snapshots"],
)
def test_what_is_no_snapshot_among_them_is_told_what_makes_one(
    fleet: Path, capfd: Capture, text: str, hint: str
) -> None:
    write(fleet, {"capacity/my-cluster.yaml": text})
    assert f"hint: {hint}\n" in run(capfd, "validate", fleet).out


def test_validate_reads_again_only_what_changed(fleet: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[bytes] = []
    parse = files.parse
    monkeypatch.setattr(files, "parse", lambda data, **budget: read.append(data) or parse(data, **budget))
    first = run(capfd, "validate", fleet)
    assert len(read) > 3
    read.clear()
    assert run(capfd, "validate", fleet).out == first.out
    assert read == []
    write(fleet, {"workloads/hello/more.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n"})
    run(capfd, "validate", fleet)
    assert len(read) == 1
