"""How git is called: by lists of arguments that nobody else can add to, and with bounds on what it brings and prints."""

from __future__ import annotations

import ast
import random
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.git import program, reading, worktree
from gitplacer.git.address import Address
from gitplacer.git.mirror import Unreachable, refs_of
from gitplacer.git.program import NO_REPOSITORY, Git, GitError, TooMuch, most_brought
from gitplacer.git.reading import Repository
from gitplacer.git.worktree import read_work_tree
from tests.gitservers import Served, git, https_server

PACKAGE = Path(program.__file__).parents[1]
MODULES = sorted(PACKAGE.rglob("*.py"))

# which programs are started


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """The calls in a module, each with what is called, as it is written."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


STARTS = ("subprocess.run", "subprocess.Popen", "subprocess.call", "subprocess.check_call", "subprocess.check_output")
STARTERS = {"git/program.py": 2, "git/committing.py": 1, "git/signing.py": 1, "runners/isolated.py": 1}
"""The modules that start programs, and how often."""
FORBIDDEN = ("os.system", "os.popen", "os.exec", "os.spawn", "os.posix_spawn", "subprocess.getoutput", "subprocess.getstatusoutput",
             "pty.", "asyncio.create_subprocess")  # fmt: skip


def test_programs_are_started_by_argument_lists_and_in_few_modules() -> None:
    found: dict[str, int] = {}
    for path in MODULES:
        for name, call in calls(path) if re.search(r"\b(os|subprocess|pty|asyncio)\b", path.read_text("utf-8")) else ():
            assert not name.startswith(FORBIDDEN), f"{path}:{call.lineno}"
            if name in STARTS:
                where = path.relative_to(PACKAGE).as_posix()
                found[where] = found.get(where, 0) + 1
                assert not {"shell", "executable", "preexec_fn"} & {k.arg for k in call.keywords}, (
                    f"{path}:{call.lineno}"
                )
                assert None not in {k.arg for k in call.keywords}, f"{path}:{call.lineno}: ** could bring shell=True"
                assert not isinstance(call.args[0], ast.Constant | ast.JoinedStr | ast.BinOp), f"{path}:{call.lineno}"
    assert found == STARTERS


# what git is told

OF_GIT = {"run": 0, "start": 0, "_line": 0, "_log": 1, "_git": 1, "_user_git": 0}
"""What passes its arguments on to git, and how many of its own it takes first."""
PASSED_ON = {
    ("git/reading.py", "_log", "how"), ("git/committing.py", "_line", "args"), ("git/committing.py", "_user_git", "args"),
    ("cli/story.py", "_git", "args"), ("cli/names.py", "_git", "args"),
}  # fmt: skip
"""The parameters of those: what is in them is looked at where they are called."""


def told_to_git(path: Path) -> Iterator[tuple[ast.FunctionDef, ast.Call, list[ast.expr]]]:
    """Each call by which a module tells git something, with its arguments and the function that it is in."""
    for function in ast.walk(parsed(path)):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Call):
                    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                    arguments = node.args[OF_GIT.get(name, 99) :]
                    if arguments and (is_said(arguments[0]) or isinstance(arguments[0], ast.Starred)):
                        yield function, node, arguments


def is_said(argument: ast.expr) -> bool:
    """Whether an argument is written out, as far as git's parser of options can see."""
    if isinstance(argument, ast.JoinedStr):
        first = argument.values[0]
        return isinstance(first, ast.Constant) and str(first.value).startswith("-")
    if isinstance(argument, ast.Name):
        return argument.id.isupper()
    return isinstance(argument, ast.Constant)


def is_ours(function: ast.FunctionDef, argument: ast.expr, where: str) -> bool:
    """Whether an argument is written out, or made in the same function of what is, or passed on from where it is."""
    if is_said(argument):
        return True
    if not isinstance(argument, ast.Starred) or not isinstance(argument.value, ast.Name):
        return isinstance(argument, ast.Starred) and isinstance(argument.value, ast.List) and not argument.value.elts
    name = argument.value.id
    if (where, function.name, name) in PASSED_ON:
        return True
    made = [n.value for n in ast.walk(function) if isinstance(n, ast.Assign | ast.AugAssign) and name in assigned(n)]
    return bool(made) and all(is_said(part) for value in made for part in parts(value))


def assigned(node: ast.Assign | ast.AugAssign) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def parts(value: ast.expr) -> list[ast.expr]:
    match value:
        case ast.List() | ast.Tuple():
            return list(value.elts)
        case ast.IfExp():
            return [*parts(value.body), *parts(value.orelse)]
        case ast.ListComp():
            return [value.elt]
    return [value]


def unguarded(path: Path, package: Path = PACKAGE) -> Iterator[str]:
    """Where a value from outside is told to git before `--end-of-options` or `--`, so that it could be an option."""
    where = path.relative_to(package).as_posix()
    for function, call, arguments in told_to_git(path):
        for argument in arguments:
            if isinstance(argument, ast.Constant) and argument.value in ("--", "--end-of-options"):
                break
            if not is_ours(function, argument, where):
                yield f"{where}:{call.lineno} {ast.unparse(argument)}"


def test_nothing_from_outside_can_be_an_option_of_git() -> None:
    telling = [
        path
        for path in MODULES
        if re.search(r"\bgit\b.*\.(run|start)\(|_line\(|_user_git\(|Git\(", path.read_text("utf-8"))
    ]
    assert sum(1 for path in telling for _ in told_to_git(path)) > 40
    assert [found for path in telling for found in unguarded(path)] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("git.run('log', rev)", ["x.py:2 rev"]),
        ("git.run('log', f'{rev}~1')", ["x.py:2 f'{rev}~1'"]),
        ("git.run('log', '-n1', repo.tip, '--')", ["x.py:2 repo.tip"]),
        ("git.run('log', *revs, '--')", ["x.py:2 *revs"]),
        ("git.run('log', str(path))", ["x.py:2 str(path)"]),
        ("args = ['-n1', rev]; git.run('log', *args)", ["x.py:2 *args"]),
        ("args = ['-n1', f'--max={n}']; git.run('log', *args, '--end-of-options', rev)", []),
        ("git.run('log', '--end-of-options', rev, '--', path)", []),
    ],
)
def test_the_look_at_arguments_sees_what_is_unguarded(tmp_path: Path, text: str, found: list[str]) -> None:
    (tmp_path / "x.py").write_text(f"def f(git, rev, revs, repo, path, n):\n    {text}\n")
    assert list(unguarded(tmp_path / "x.py", tmp_path)) == found


# bounds


class Written(Served):
    """One in which anything may be written, also what git would not."""

    def tree(self, *rows: bytes) -> str:
        """A tree of these rows, as they are."""
        raw = b"".join(rows)
        return git("hash-object", "-t", "tree", "-w", "--stdin", "--literally", cwd=self.bare, input=raw)

    def put(self, tree: str, author: str = "A <a@b.c> 1700000000 +0000") -> None:
        raw = f"tree {tree}\nauthor {author}\ncommitter {author}\n\nsome\n".encode()
        made = git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", cwd=self.bare, input=raw)
        git("update-ref", "refs/heads/main", made, cwd=self.bare)


@pytest.fixture
def served(tmp_path: Path) -> Written:
    return Written(tmp_path)


def row(oid: str, name: bytes = b"x.yaml", mode: bytes = b"100644") -> bytes:
    return b"%s %s\0%s" % (mode, name, bytes.fromhex(oid))


def test_a_fetch_brings_no_more_than_is_allowed(served: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    served.put(served.tree(row(served.blob(random.Random(1).randbytes(1 << 20)))))
    monkeypatch.setenv("GITPLACER_GIT_LIMIT", "200Ki")
    with pytest.raises(TooMuch, match="brings more than 204,800 bytes") as refused:
        served.fetch()
    assert (refused.value.kind, "GITPLACER_GIT_LIMIT" in refused.value.hint) == ("TooMuch", True)
    assert served.size() < 400_000
    monkeypatch.setenv("GITPLACER_GIT_LIMIT", "2Mi")
    assert served.fetch() == refs_of(served.address)


def test_nor_more_than_we_may_write_ourselves(served: Written) -> None:
    served.put(served.tree(row(served.blob(random.Random(1).randbytes(1 << 20)))))
    had = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200 << 10, had[1]))
    try:
        with pytest.raises(TooMuch, match="brings more than 204,800 bytes") as refused:
            served.fetch()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, had)
    assert "ulimit -f" in refused.value.hint
    assert served.fetch() == refs_of(served.address)


def test_under_a_hard_limit_a_fetch_goes_on(served: Written) -> None:
    """One that nobody but root may raise: in a process of its own, which cannot get rid of it."""
    served.put(served.tree(row(served.blob())))
    limited = ["sh", "-c", 'ulimit -f 1048576 && exec "$0" "$@"', sys.executable, "-c", _FETCHES]
    done = subprocess.run([*limited, str(served.bare)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, list(refs_of(served.address)))


_FETCHES = """
import sys
from pathlib import Path
from gitplacer.git.address import Address
from gitplacer.git.mirror import Mirror, refs_of

bare = Path(sys.argv[1])
address = Address.parse(str(bare), base_dir=bare.parent)
print(*Mirror(address, bare.parent / "cache").fetch(refs_of(address)))
"""


@pytest.mark.parametrize("said", ["much", "-1", "0", "8 GiB", "1e99"])
def test_a_limit_that_is_none_is_refused(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITPLACER_GIT_LIMIT", said)
    with pytest.raises(GitError) as refused:
        most_brought()
    assert (refused.value.kind, str(refused.value)) == ("BadLimit", f"GITPLACER_GIT_LIMIT is no amount: {said!r}")
    monkeypatch.delenv("GITPLACER_GIT_LIMIT")
    assert most_brought() == 8 * 1024**3


def test_a_command_that_prints_without_end_is_ended(served: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    served.put(served.tree(*(row(served.blob(), b"%04d.yaml" % n) for n in range(100))))
    monkeypatch.setattr(program, "MAX_OUTPUT", 2000)
    with Repository.open(served.address, served.bare.parent) as repository:
        tip = repository.resolve()
        with pytest.raises(TooMuch, match="git ls-tree prints more than 2,000 bytes"):
            repository.tree(tip)
        monkeypatch.setattr(program, "MAX_OUTPUT", 1 << 20)
        assert len(repository.tree(tip)) == 100


def test_what_a_command_says_on_stderr_is_bounded_too(served: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "MAX_OUTPUT", 10)
    with pytest.raises(TooMuch, match="git no-such-command prints more than 10 bytes"):
        Git(served.bare).run("no-such-command")


@pytest.mark.parametrize("sizes", [(), (0,), (5,), (1, 0, 2), (program._PORTION, 1), (3, 5 * program._PORTION, 7, 0)])
def test_a_command_gets_what_it_is_given_in_pieces_or_whole(served: Written, sizes: tuple[int, ...]) -> None:
    pieces = [random.Random(n).randbytes(size) for n, size in enumerate(sizes)]
    whole = b"".join(pieces)
    for given_ in (pieces, whole):
        made = Git(served.bare).run("hash-object", "-w", "--stdin", input=given_).decode().strip()
        assert Git(served.bare).run("cat-file", "blob", made) == whole


def test_a_command_may_print_while_it_is_given_more(served: Written) -> None:
    """Neither side waits for the other, though both have more to say than a pipe holds."""
    names = [b"%040x\n" % n for n in range(100_000)]
    printed = Git(served.bare).run("cat-file", "--batch-check", input=names)
    assert printed == b"".join(b"%040x missing\n" % n for n in range(100_000))


def test_a_command_may_end_before_it_has_all(served: Written) -> None:
    assert Git(served.bare).run("rev-parse", "--is-bare-repository", input=bytes(10_000_000)) == b"true\n"


def test_a_commit_with_too_many_files_is_not_listed(served: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    served.put(served.tree(*(row(served.blob(), b"%04d.yaml" % n) for n in range(10))))
    for module in (reading, worktree):
        monkeypatch.setattr(module, "MAX_FILES", 9)
    work = served.bare.parent / "work"
    git("clone", "-q", str(served.bare), str(work), cwd=served.bare.parent)
    with Repository.open(served.address, served.bare.parent) as repository:
        tip = repository.resolve()
        for refused in (lambda: repository.tree(tip), lambda: read_work_tree(work)):
            with pytest.raises(TooMuch, match="has more than") as error:
                refused()
            assert "--path" in error.value.hint
        monkeypatch.setattr(reading, "MAX_FILES", 10)
        assert len(repository.tree(tip)) == 10


@given(st.lists(st.integers(1, 9), min_size=1, max_size=40), st.sampled_from([1, 7, 5000]))
def test_what_goes_in_and_out_of_a_command_is_all_of_it(numbers: list[int], times: int) -> None:
    text = "".join(f"{'x' * number * times}\n" for number in numbers).encode()
    assert Git(NO_REPOSITORY).run("stripspace", input=text) == text


# objects that no git makes


FORGED = {
    "duplicateEntries": lambda s, oid: s.tree(row(oid), row(oid)),
    "treeNotSorted": lambda s, oid: s.tree(row(oid, b"b.yaml"), row(oid, b"a.yaml")),
    "a file and a folder": lambda s, oid: s.tree(row(oid, b"a"), row(s.tree(row(oid)), b"a", b"40000")),
}


@pytest.mark.parametrize("what", FORGED)
def test_an_object_that_no_git_makes_is_not_brought(served: Written, what: str) -> None:
    served.put(FORGED[what](served, served.blob()))
    with pytest.raises(GitError, match="has an object that no git makes: object ") as refused:
        served.fetch()
    assert refused.value.kind == "MalformedObject" and refused.value.hint


def test_a_name_that_is_there_twice_is_no_tree_either_where_nothing_is_fetched(served: Written) -> None:
    served.put(served.tree(row(served.blob(b"one")), row(served.blob(b"two"))))
    with Repository.open(served.address, served.bare.parent) as repository, pytest.raises(GitError) as refused:
        repository.tree(repository.resolve())
    assert refused.value.kind == "MalformedTree"


OLD = {
    "zero-padded mode": lambda s, oid: s.put(s.tree(row(s.tree(row(oid)), b"a", b"040000"))),
    "mode of a group": lambda s, oid: s.put(s.tree(row(oid, mode=b"100664"))),
    "odd zone": lambda s, oid: s.put(s.tree(row(oid)), "A <a@b.c> 1700000000 +51800"),
    "no space before the date": lambda s, oid: s.put(s.tree(row(oid)), "A <a@b.c>1700000000 +0000"),
    "no name": lambda s, oid: s.put(s.tree(row(oid)), "<a@b.c> 1700000000 +0000"),
    "no mail": lambda s, oid: s.put(s.tree(row(oid)), "A 1700000000 +0000"),
    "zero-padded date": lambda s, oid: s.put(s.tree(row(oid)), "A <a@b.c> 01700000000 +0000"),
    ".git in it": lambda s, oid: s.put(s.tree(row(s.tree(row(oid)), b".git", b"40000"))),
    "odd .gitmodules": lambda s, oid: s.put(s.tree(row(s.blob(b'[submodule "../x"]\n\tpath = -x\n\turl = -x\n'), b".gitmodules"))),
}  # fmt: skip


@pytest.mark.parametrize("what", OLD)
def test_a_history_with_what_old_programs_made_and_with_odd_names_is_brought(served: Written, what: str) -> None:
    OLD[what](served, served.blob())
    assert served.fetch() == refs_of(served.address)


# redirects


@pytest.mark.server
def test_a_redirect_is_not_followed_by_whoever_needs_no_credential(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def elsewhere(path: str, authorization: str) -> tuple[int, dict[str, str], bytes]:
        asked.append(path)
        return 302, {"Location": "/other.git/info/refs?service=git-upload-pack"}, b""

    with https_server(tmp_path, tmp_path, elsewhere) as (url, _):
        monkeypatch.setenv("GIT_SSL_CAINFO", str(tmp_path / "ca.pem"))
        with pytest.raises(Unreachable) as refused:
            refs_of(Address.parse(f"{url}/some.git", base_dir=tmp_path))
    assert "give the address that it redirects to" in refused.value.hint
    assert [path.partition("?")[0] for path in asked] == ["/some.git/info/refs"]
