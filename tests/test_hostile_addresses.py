"""Addresses, branches and roots that would lead git or a pass astray: refused where they are written, and where they are used."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as settings_of_examples
from hypothesis import strategies as st

from gitplacer.documents import Document, parse
from gitplacer.git.address import Address
from gitplacer.git.program import GitError
from gitplacer.git.reading import check_branch
from gitplacer.kinds.fields import Matching, Model
from gitplacer.kinds.fleet import Branch, Fleet, FleetSpec, SnapshotBranch, Url
from gitplacer.kinds.parse import parse_own
from gitplacer.passes.opening import written_to
from gitplacer.passes.reconcile import reconcile
from gitplacer.problems import Problem
from gitplacer.settings import UsageError, settings
from tests.fleetrepos import START, made, silently
from tests.gitservers import git

WORDS = "abcXYZ019-._/@:+~?#%[]{}\\ \t\nΩ"


def fleet_with(field: str, value: str) -> Model | list[Problem]:
    """A Fleet that says something in a field of `spec.deployment`, on its sixth line."""
    text = (
        f"apiVersion: gitplacer.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: f}}\nspec:\n  deployment:\n    {field}: "
    )
    quoted = value.encode("unicode_escape").decode().replace('"', '\\"')
    data = f'{text}"{quoted}"\n'.encode()
    (item,) = parse(data).documents
    return parse_own(Document("fleet.yaml", item, 0, lambda: data))


def refused(field: str, value: str) -> None:
    problems = fleet_with(field, value)
    assert isinstance(problems, list), value
    assert [(p.code, p.location.file, p.location.line) for p in problems] == [("InvalidValue", "fleet.yaml", 6)]
    assert problems[0].message.startswith(f"spec.deployment.{field} must be ") and "secret" not in problems[0].message


@pytest.mark.parametrize(
    "url",
    [
        "https://user:secret@example.com/x.git", "ssh://git:secret@example.com/x.git", "user:secret@example.com:x",
        "https://example.com/x.git?token=secret", "https://example.com/x.git#secret", "https://@example.com/x", "https://secret@example.com/x", "https://example.com",
        "ssh://-oProxyCommand=secret/x", "ssh://git@-oProxyCommand=secret/x", "git@-oProxyCommand=secret:x", "https://-x/y",
        "ssh://git@example.com:-1/x", "git@example.com:-x", "git@example.com://x", "git@example.com:a:b", "-oProxyCommand=secret@example.com",
        "ext::sh -c secret", "fd::17", "file:///srv/secret", "git://example.com/x", "http://example.com/x", "../secret", "/srv/secret",
        "https://example.com/a b", "https://example.com/a\x9bb", "ssh://[::1/x", "https://exa\u202emple.com/x",
    ],
)  # fmt: skip
def test_an_address_that_could_leak_or_run_something_is_refused_where_it_is_written(url: str) -> None:
    refused("url", url)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/x.git", "https://dev.example.com/org/_git/x", "https://example.com:8443/a/b", "ssh://git@example.com/x",
        "ssh://git@example.com:2222/~me/x.git", "ssh://[::1]:22/x", "git@example.com:org/x.git", "git@example.com:/srv/x", "a.b+c@h:x",
    ],
)  # fmt: skip
def test_an_address_as_people_write_them_is_taken(url: str) -> None:
    assert isinstance(fleet_with("url", url), Fleet)


PASSWORDS = st.builds(
    "{}://{}:{}@{}/x".format,
    st.sampled_from(["https", "ssh", "HTTPS"]),
    st.text("ab", max_size=3),
    st.text(WORDS.replace("/", ""), min_size=1, max_size=8),
    st.sampled_from(["example.com", "[::1]", "localhost"]),
)
QUESTIONS = st.builds("https://example.com/{}{}{}".format, st.text("ab/"), st.sampled_from("?#"), st.text(WORDS))
OPTIONS = st.builds("{}-{}{}x".format, st.sampled_from(["ssh://", "ssh://git@", "git@", "https://"]), st.text("oxA="), st.sampled_from(":/"))  # fmt: skip


@given(st.one_of(PASSWORDS, QUESTIONS, OPTIONS))
def test_no_spelling_of_a_password_a_question_or_an_option_is_an_address(url: str) -> None:
    refused("url", url)
    with pytest.raises(GitError) as error:
        Address.parse(url, base_dir=Path("/nowhere"))
    assert error.value.kind in ("BadAddress", "NoSuchDirectory")  # the latter where it would be a path


def pattern(annotated: object) -> str:
    return next(each.pattern for each in get_args(annotated) if isinstance(each, Matching))


@given(st.from_regex(pattern(Url), fullmatch=True))
def test_what_a_fleet_may_say_is_what_git_may_be_given(url: str) -> None:
    address = Address.parse(url, base_dir=Path("/nowhere"))
    assert address.protocol in ("https", "ssh") and address.normalised


@pytest.mark.parametrize(
    "branch",
    [
        "HEAD", "refs/heads/main", "refs/x", "-x", "--all", "a..b", "a@{1}", "a^", "a:b", "a~1", ":/x", "a.lock", "a.lock/b", "a/.b", "a//b",
        "a./b", "a b", "a\x1b", "a/", ".", "main\n",
    ],
)  # fmt: skip
def test_a_branch_that_means_something_else_is_refused_where_it_is_written(branch: str) -> None:
    refused("branch", branch)


@given(st.from_regex(pattern(Branch), fullmatch=True).filter(lambda name: len(name) <= 200))
def test_what_a_fleet_may_call_a_branch_git_calls_one(branch: str) -> None:
    assert check_branch(branch) == branch
    assert branch != "HEAD" and not branch.startswith("refs/")


@given(st.from_regex(pattern(SnapshotBranch), fullmatch=True).filter(lambda name: len(name) <= 200))
def test_branches_of_snapshots_are_branches_for_every_cluster(branch: str) -> None:
    for cluster in ("a", "lock", "x-1"):
        check_branch(branch.replace("{cluster}", cluster))


@given(st.text(WORDS, min_size=1).map(lambda tail: f"a{tail}"))
def test_a_name_that_git_refuses_is_no_branch_of_a_fleet(branch: str) -> None:
    done = subprocess.run(["git", "check-ref-format", "--branch", branch], capture_output=True, check=False)
    if done.returncode != 0:
        refused("branch", branch)


@pytest.mark.parametrize(
    "root",
    [
        "/", ".", "..", "../x", "a/../b", ".github", ".git", "a/.git", "-x", "placements", "moving/x", "fleet", "guards", "flux-system",
        "flux-system/x", "clusters/flux-system", "clusters/flux-system/x", "a//b", "a\\b", "a b", "\u202ea", "x\n",
    ],
)  # fmt: skip
def test_a_root_that_is_somebody_elses_is_refused_where_it_is_written(root: str) -> None:
    refused("root", root)


@given(
    st.builds(
        "{}{}{}".format,
        st.sampled_from(["", "a/", "clusters/"]),
        st.just("flux-system"),
        st.sampled_from(["", "/", "/b"]),
    )
)
def test_no_root_is_in_a_folder_of_flux(root: str) -> None:
    refused("root", root)


# a pass that would read what it wrote

ONE_REPO = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(
        [
            "https://{}/",
            "https://{}:443/",
            "HTTPS://{}//",
            "ssh://git@{}/",
            "ssh://{}:22/",
            "git@{}:",
            "git@{}:/",
        ]
    ).map(lambda said: said.replace("{}", "Git.Example.com"))
    | st.sampled_from(["https://git.example.com/", "ssh://me@GIT.example.COM/", "me@git.example.com:"]),
    st.sampled_from(["acme/fleet", "acme//fleet"]),
    st.sampled_from(["", ".git"]),
    st.sampled_from(["", "/", "//"]),
)
"""Spellings of one address."""
OTHER_REPO = st.sampled_from(
    [
        "https://git.example.com:8443/acme/fleet",
        "https://git.example.com/acme/fleet2",
        "git@git.example.com:acme/x/fleet",
        "git@example.com:acme/fleet",
    ]
)


def looped(source: str, deployment: str) -> str:
    """Why a pass from one repo to another is refused before anything is read, or ''."""
    try:
        written_to(settings(source, deployment=deployment, now="2026-01-02T03:05:00Z"), FleetSpec())
    except UsageError as error:
        assert error.hint
        return str(error)
    return ""


@given(source=ONE_REPO, deployment=ONE_REPO, other=OTHER_REPO)
def test_no_spelling_of_its_address_hides_that_the_source_would_be_written_to(
    source: str, deployment: str, other: str
) -> None:
    assert "are both" in looped(source, deployment)
    assert looped(source, other) == "" == looped(other, deployment)


@settings_of_examples(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(st.sampled_from([".", "x/..", "../fleet", "", ".git/..", "../link"]), max_size=4),
    end=st.sampled_from(["", "/", "/.git", "/.git/"]),
)
def test_no_path_to_the_source_hides_it(one_repo: Path, steps: list[str], end: str) -> None:
    """Whatever way through links and folders leads there, a clone and its git directory are one repo."""
    spelled = "/".join([str(one_repo), *steps]) + end
    assert "are both" in looped(str(one_repo), spelled)


@pytest.fixture
def one_repo(tmp_path: Path) -> Path:
    git("init", "-q", "-b", "main", "fleet", cwd=tmp_path)
    (tmp_path / "fleet" / "x").mkdir()
    (tmp_path / "link").symlink_to("fleet")
    return tmp_path / "fleet"


@pytest.mark.parametrize(
    ("folder", "root"),
    [("clusters/in", "clusters"), ("one", "one/two"), ("placements/x", "clusters"), ("moving", "c"), ("guards", "c")],
)
def test_a_pass_does_not_write_the_folders_that_it_reads(tmp_path: Path, folder: str, root: str) -> None:
    fleet = made(tmp_path)
    text = START["fleet.yaml"].replace("spec: {}", f"spec: {{deployment: {{root: {root}}}}}")
    files = {f"{folder}/{path}": body for path, body in START.items()} | {f"{folder}/fleet.yaml": text}
    fleet.commit(files, remove=tuple(START))
    fleet.git("fetch", "-q", str(fleet.source), "main:main")
    tip = fleet.git("rev-parse", "main")
    both = settings(str(fleet.bare), path=folder, deployment=str(fleet.bare), now="2026-01-02T03:05:00Z")
    with pytest.raises(UsageError, match="overlaps with") as error:
        reconcile(both, progress=silently)
    assert "spec.deployment.branch" in error.value.hint and fleet.git("rev-parse", "main") == tip
