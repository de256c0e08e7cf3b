"""Signed commits: made with ssh-keygen and gpg, and judged by git."""

from __future__ import annotations

import datetime
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.git.address import Address
from gitplacer.git.newcommits import NewCommit, Person
from gitplacer.git.publishing import Deployment
from gitplacer.git.reading import Commit
from gitplacer.git.secretfiles import ExposedSecret
from gitplacer.git.signing import AllowedKeys, NotSigned, SigningKey, flaw, is_signed, signed, unsigned, verified
from gitplacer.model.signers import Flaw
from gitplacer.passes.proposing import ProposedPass, Standing, propose
from gitplacer.settings import settings
from gitplacer.tree import Changes, differing_paths
from tests.commands import run
from tests.fleetrepos import Fleet, made, silently
from tests.gitservers import git
from tests.stories import cluster, policy, rayservice

needs_gpg = pytest.mark.skipif(not shutil.which("gpg") or not shutil.which("gpgv"), reason="gpg is not installed")

COMMIT = (
    b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n"
    b"author Ada <ada@example.com> 1767323045 +0000\n"
    b"committer gitplacer <bot@example.com> 1767323045 +0000\n\n"
    b"Move it\n\nWhy not.\n\nGitplacer-Step: 1/1\n"
)


FLAWS = {"unsigned": Flaw.UNSIGNED, "no commit": Flaw.UNSIGNED, "another key": Flaw.OTHER_KEY}


def ssh_key(folder: Path, name: str, passphrase: str = "", kind: str = "ed25519") -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-f", folder / name], check=True)
    return folder / name


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    for name, kind in (("bot", "ed25519"), ("mallory", "ed25519"), ("curve", "ecdsa")):
        ssh_key(folder, name, kind=kind)
    ssh_key(folder, "locked", "correct horse")
    return folder


@pytest.fixture(scope="module")
def gnupg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str, str]]:
    """A GnuPG home, the fingerprint of a key in it, and the public key."""
    home = tmp_path_factory.mktemp("g")  # the name of a socket in it may have 107 bytes
    home.chmod(0o700)
    run = {"env": {**os.environ, "GNUPGHOME": str(home)}, "check": True, "capture_output": True}
    try:
        subprocess.run(
            ["gpg", "--batch", "--passphrase", "", "--quick-gen-key", "Bot <b@e.com>", "ed25519", "sign"], **run
        )
        listing = subprocess.run(["gpg", "--list-keys", "--with-colons"], **run).stdout.decode()
        found = re.search(r"^fpr:+([0-9A-F]{40}):", listing, re.MULTILINE)
        assert found
        yield home, found[1], subprocess.run(["gpg", "--armor", "--export"], **run).stdout.decode()
    finally:
        subprocess.run(["gpgconf", "--kill", "all"], env=run["env"], check=False)


def public(keys: Path, name: str) -> str:
    return (keys / f"{name}.pub").read_text()


def judged(folder: Path, commit: bytes, *settings: str) -> bool:
    """Whether git takes a commit for signed by somebody it knows."""
    git("init", "--quiet", "--bare", "repo.git", cwd=folder)
    oid = git("hash-object", "-t", "commit", "-w", "--stdin", cwd=folder / "repo.git", input=commit)
    command = ["git", *(part for setting in settings for part in ("-c", setting)), "verify-commit", oid]
    return subprocess.run(command, cwd=folder / "repo.git", capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("name", ["bot", "curve"])
def test_git_takes_a_commit_that_an_ssh_key_has_signed(name: str, keys: Path, tmp_path: Path) -> None:
    commit = signed(COMMIT, SigningKey.parse(name, base_dir=keys))
    (tmp_path / "allowed").write_text(f'bot@example.com namespaces="git" {public(keys, name)}')
    assert judged(tmp_path, commit, f"gpg.ssh.allowedSignersFile={tmp_path}/allowed")
    assert verified(commit, AllowedKeys({"the bot": [public(keys, name)]})) == "the bot"


@needs_gpg
def test_git_takes_a_commit_that_an_openpgp_key_has_signed(
    gnupg: tuple[Path, str, str], keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, fingerprint, armoured = gnupg
    monkeypatch.setenv("GNUPGHOME", str(home))
    spelt = " ".join(re.findall("....", fingerprint.lower()))
    commit = signed(COMMIT, SigningKey.parse(f"gpg:{spelt}", base_dir=tmp_path))
    assert judged(tmp_path, commit)
    assert not judged(tmp_path, commit.replace(b"Why not", b"Why yes"))
    monkeypatch.delenv("GNUPGHOME")  # who is allowed stands in what is given, in no keyring of ours
    allowed = AllowedKeys({"ann": [public(keys, "mallory")], "the bot": [public(keys, "bot"), armoured]})
    assert verified(commit, allowed) == "the bot"
    assert verified(commit.replace(b"Why not", b"Why yes"), allowed) is None
    assert verified(commit, AllowedKeys({"ann": [public(keys, "bot")]})) is None
    assert flaw(commit, AllowedKeys({"ann": [public(keys, "bot")]})) is Flaw.OTHER_KEY
    assert flaw(commit.replace(b"Why not", b"Why yes"), allowed) is Flaw.DAMAGED


def test_an_ssh_signature_is_the_same_each_time_and_replaces_an_older_one(keys: Path) -> None:
    key = SigningKey.parse("bot", base_dir=keys)
    once = signed(COMMIT, key)
    assert signed(COMMIT, key) == once
    assert signed(signed(COMMIT, SigningKey.parse("mallory", base_dir=keys)), key) == once


def test_a_signature_that_says_nothing_is_not_believed(keys: Path) -> None:
    allowed = AllowedKeys({"the bot": [public(keys, "bot")], "nobody": ["no key", ""]})
    by_bot = signed(COMMIT, SigningKey.parse("bot", base_dir=keys))
    by_mallory = signed(COMMIT, SigningKey.parse("mallory", base_dir=keys))
    header = by_bot.partition(b"gpgsig")[2].partition(b"\n\n")[0]
    for_files = subprocess.run(
        ["ssh-keygen", "-Y", "sign", "-n", "file", "-f", str(keys / "bot")],
        input=COMMIT,
        capture_output=True,
        check=True,
    ).stdout
    foreign = COMMIT.replace(b"\n\n", b"\ngpgsig " + for_files.strip().replace(b"\n", b"\n ") + b"\n\n", 1)
    assert verified(by_bot, allowed) == "the bot"
    for said, commit in {
        "unsigned": COMMIT,
        "another key": by_mallory,
        "another message": by_bot.replace(b"Move", b"Keep"),
        "another parent": by_bot.replace(b"\nauthor", b"\nparent 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor", 1),
        "another namespace": foreign,
        "two signatures": by_bot.replace(b"\n\n", b"\ngpgsig" + header + b"\n\n", 1),
        "no signature in it": COMMIT.replace(b"\n\n", b"\ngpgsig -----BEGIN SSH SIGNATURE-----\n\n", 1),
        "nothing known": COMMIT.replace(b"\n\n", b"\ngpgsig yes\n\n", 1),
        "endless": COMMIT.replace(b"\n\n", b"\ngpgsig -----BEGIN SSH SIGNATURE-----" + b"A" * 99_999 + b"\n\n", 1),
        "no commit": b"",
    }.items():
        assert verified(commit, allowed) is None, said
        assert flaw(commit, allowed) is FLAWS.get(said, Flaw.DAMAGED), said
    assert verified(by_bot, AllowedKeys()) is None
    assert flaw(by_bot, AllowedKeys()) is Flaw.OTHER_KEY
    assert allowed.unreadable() == ["nobody"]


def test_verifying_leaves_no_folder_behind_also_where_somebody_was_killed(
    keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    by_bot = signed(COMMIT, SigningKey.parse("bot", base_dir=keys))
    seen: list[list[Path]] = []

    def killed(*args: object) -> str:
        seen.append(list(tmp_path.iterdir()))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("gitplacer.git.signing._verified_by_ssh", killed)
        patch.setattr("shutil.rmtree", lambda *args, **options: None)  # it has not come to that
        with pytest.raises(KeyboardInterrupt):
            verified(by_bot, AllowedKeys())
    assert [list(tmp_path.iterdir())] == seen != [[]]
    assert verified(by_bot, AllowedKeys({"the bot": [public(keys, "bot")]})) == "the bot"
    assert list(tmp_path.iterdir()) == []


def test_a_name_is_no_pattern_and_options_of_a_key_do_not_count(keys: Path) -> None:
    by_mallory = signed(COMMIT, SigningKey.parse("mallory", base_dir=keys))
    sneaky = f"{public(keys, 'bot').strip()}\n* {public(keys, 'mallory')}"
    assert verified(by_mallory, AllowedKeys({"*": [sneaky], 'a" b,!c': [public(keys, "bot")]})) is None
    assert verified(by_mallory, AllowedKeys({'a" b,!c\n': [public(keys, "mallory")]})) == 'a" b,!c\n'


_LINES = st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"")), max_size=4)


@given(extra=_LINES, message=st.binary(max_size=60), signature=_LINES)
def test_what_is_signed_is_the_commit_without_its_signature(
    extra: list[bytes], message: bytes, signature: list[bytes]
) -> None:
    head = [b"tree 4b82", *(b"x" + line for line in extra)]
    plain = b"\n".join(head) + b"\n\n" + message
    header = b"gpgsig " + b"\n ".join([b"-----BEGIN", *signature])
    for place in range(1, len(head) + 1):
        commit = b"\n".join([*head[:place], header, *head[place:]]) + b"\n\n" + message
        assert unsigned(commit) == plain
        assert is_signed(commit)
    assert unsigned(plain) == plain
    assert not is_signed(plain)


@pytest.mark.parametrize(
    ("spelt", "message", "hint"),
    [
        ("missing", "cannot read signing key missing: No such file or directory", "gpg:FINGERPRINT"),
        ("gpg:ada@example.com", '"gpg:ada@example.com" does not name a key by its whole fingerprint', "fpr"),
        ("gpg:1234ABCD", '"gpg:1234ABCD" does not name a key by its whole fingerprint', "fpr"),
        ("-oProxyCommand=x", "cannot read signing key -oProxyCommand=x: No such file or directory", ""),
        ("", "cannot read signing key : Is a directory", ""),
    ],
)  # fmt: skip
def test_a_key_that_is_none_is_named(spelt: str, message: str, hint: str, tmp_path: Path) -> None:
    with pytest.raises(NotSigned) as error:
        SigningKey.parse(spelt, base_dir=tmp_path)
    assert str(error.value) == message
    assert hint in error.value.hint


def test_a_private_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    key = ssh_key(tmp_path, "open")
    for mode, whose in ((0o640, "its group"), (0o604, "other users"), (0o620, "its group")):
        key.chmod(mode)
        with pytest.raises(ExposedSecret) as error:
            SigningKey.parse("open", base_dir=tmp_path)
        assert str(error.value) == f"{whose} can read or write signing key {key}"
        assert error.value.hint == f"chmod 600 {key}"
    key.chmod(0o400)
    assert SigningKey.parse("open", base_dir=tmp_path).file == key


def test_a_key_that_cannot_sign_says_why(keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    for name, data in (("junk", b"\0junk"), ("empty", b""), ("openpgp", b"-----BEGIN PGP PRIVATE KEY BLOCK-----\n")):
        (tmp_path / name).write_bytes(data)
        (tmp_path / name).chmod(0o600)
    for key, said, hint in (
        (keys / "locked", "passphrase", "ssh-add"),
        (
            Path(shutil.copy(keys / "bot.pub", tmp_path / "alone.pub")),
            "alone.pub is a public key, and no ssh agent holds the private one",
            "give the private key, the file without .pub",
        ),
        (tmp_path / "junk", "junk holds no private ssh key", "as ssh-keygen makes it"),
        (tmp_path / "empty", "empty holds no private ssh key", "as ssh-keygen makes it"),
        (tmp_path / "openpgp", "openpgp holds no private ssh key", "gpg:FINGERPRINT"),
    ):
        with pytest.raises(NotSigned, match=said) as error:
            signed(COMMIT, SigningKey.parse(str(key), base_dir=tmp_path))
        assert hint in error.value.hint


@needs_gpg
def test_a_gpg_key_that_is_not_there_says_so(
    gnupg: tuple[Path, str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GNUPGHOME", str(gnupg[0]))
    with pytest.raises(NotSigned, match="No secret key") as error:
        signed(COMMIT, SigningKey.parse(f"gpg:{'AB' * 20}", base_dir=tmp_path))
    assert "GNUPGHOME" in error.value.hint


def test_an_agent_holds_the_passphrase(keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    socket = tmp_path / "agent"
    asking = tmp_path / "ask"
    asking.write_text("#!/bin/sh\necho correct horse\n")
    asking.chmod(0o700)
    with subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.PIPE) as agent:
        try:
            assert agent.stdout is not None
            agent.stdout.readline()  # it listens
            monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
            with_words = {**os.environ, "SSH_ASKPASS": str(asking), "SSH_ASKPASS_REQUIRE": "force"}
            subprocess.run(["ssh-add", "-q", str(keys / "locked")], env=with_words, check=True, capture_output=True)
            for name in ("locked", "locked.pub"):
                commit = signed(COMMIT, SigningKey.parse(name, base_dir=keys))
                assert verified(commit, AllowedKeys({"bot": [public(keys, "locked")]})) == "bot"
        finally:
            agent.terminate()


# whole passes

MANUAL = policy("anywhere", "select: {}\nrelocation: {when: {ClusterDraining: Manual}}")
PROPOSAL, NEXT = "gitplacer/proposed/prod/api", "gitplacer/next/main"


def unsigned_ones(fleet: Fleet, allowed: str) -> list[str]:
    """The subjects of all commits that git does not find well signed."""
    seen = f"gpg.ssh.allowedSignersFile={allowed}"
    lines = fleet.git("-c", seen, "log", "--all", "--format=%G? %s").splitlines()
    return sorted(
        line[2:] for line in lines if not line.startswith(("G ", "U "))
    )  # U: it trusts nobody for who that is


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return made(tmp_path)


def test_all_commits_of_a_pass_are_signed_and_verify_and_nothing_changes_after_it(
    fleet: Fleet, keys: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "allowed").write_text(f"* {public(keys, 'bot')}")
    where = ["--deployment", fleet.deployment, str(fleet.source)]
    how = ["--sign-key", keys / "bot", "--author", "Rob Ot <rob@example.com>"]
    for minute, files in enumerate((MANUAL, cluster("a", state="Draining"), rayservice("prod", "new")), 5):
        fleet.commit(files)
        done = run(capfd, "reconcile", *how, "--now", f"2026-01-02T03:{minute:02}:00Z", *where)
        assert done.code == 0, done.err
    assert PROPOSAL in fleet.git("for-each-ref", "--format=%(refname:short)").split()[-2]
    assert unsigned_ones(fleet, f"{tmp_path}/allowed") == []
    assert set(fleet.git("log", "--all", "--format=%an <%ae>, %cn <%ce>").splitlines()) == {
        "Rob Ot <rob@example.com>, Rob Ot <rob@example.com>"
    }
    assert run(capfd, "verify", "--all", *where).out.endswith("2 commits: 2 Verified\n")
    before = fleet.git("for-each-ref")
    assert run(capfd, "reconcile", *how, "--now", "2026-01-02T03:30:00Z", *where).out.startswith("Unchanged")
    assert run(capfd, "reconcile", "--now", "2026-01-02T03:31:00Z", *where).out.startswith("Unchanged")
    assert fleet.git("for-each-ref") == before
    assert git("fsck", "--strict", "--no-dangling", cwd=fleet.bare) == ""


def test_a_proposal_from_before_is_signed_once_commits_are_signed(fleet: Fleet, keys: Path, tmp_path: Path) -> None:
    (tmp_path / "allowed").write_text(f"* {public(keys, 'bot')}")
    fleet.commit(MANUAL)
    fleet.reconcile(5)
    fleet.commit(cluster("a", state="Draining"))
    fleet.reconcile(6)
    before = unsigned_ones(fleet, f"{tmp_path}/allowed")
    assert "Relocate prod/api from a to b" in before
    fleet.how = {"sign_key": str(keys / "bot")}
    assert fleet.reconcile(7).tip is None
    gone = set(before) - set(unsigned_ones(fleet, f"{tmp_path}/allowed"))
    assert gone == {"Relocate prod/api from a to b"}


@needs_gpg
def test_a_proposed_pass_is_pushed_once_although_no_two_signatures_are_the_same(
    fleet: Fleet, gnupg: tuple[Path, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GNUPGHOME", str(gnupg[0]))

    def proposed(minute: int, key: str | None, *, check: bool = False) -> ProposedPass:
        now = f"2026-01-02T03:{minute:02}:00Z"
        chosen = settings(str(fleet.source), deployment=fleet.deployment, now=now, sign_key=key)
        return propose(chosen, progress=silently, check=check)

    fleet.reconcile(5)
    fleet.commit(cluster("a", state="Draining") | rayservice("prod", "new"))
    key = f"gpg:{gnupg[1]}"
    assert proposed(6, None).standing is Standing.MADE
    outdated = proposed(7, key, check=True)
    assert (outdated.standing, outdated.moved) == (Standing.OUTDATED, "Signature")
    made = proposed(8, key)
    assert made.standing is Standing.MADE
    assert fleet.git("log", "--format=%G?", f"main..{NEXT}").splitlines() == ["G", "G"]
    for minute, by in ((9, key), (10, None)):
        again = proposed(minute, by)
        assert (again.standing, again.tip) == (Standing.STANDS, made.tip)
    with Deployment.open(Address.parse(fleet.deployment, base_dir=Path("/")), "main", fleet.source / "../cache") as now:
        chain = now.pass_proposed()
        now.signing_key = SigningKey.parse(key, base_dir=Path("/"))
        steps = [
            NewCommit(
                changes=changes(now, commit),
                message=f"{commit.subject}\n\n{commit.body}",
                author=Person(commit.author_name, commit.author_email),
                when=datetime.datetime.fromisoformat(commit.date),
            )
            for commit in chain
        ]
        assert now.propose_pass(steps) == made.tip


def changes(deployment: Deployment, commit: Commit) -> Changes:
    """What a commit has changed."""
    before, after = (deployment.repository.tree(oid) for oid in (commit.parents[0], commit.id))
    paths = differing_paths(before, after)
    return Changes(after.read_all(p for p in paths if p in after), frozenset(p for p in paths if p not in after))


def test_what_cannot_be_signed_is_not_published(fleet: Fleet, keys: Path, capfd: pytest.CaptureFixture[str]) -> None:
    where = ["--deployment", fleet.deployment, str(fleet.source)]
    done = run(capfd, "reconcile", "--sign-key", keys / "locked", *where)
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[0].startswith("error[NotSigned]: ssh-keygen does not sign: ")
    assert "ssh-add" in done.err.splitlines()[1]
    assert fleet.git("for-each-ref") == ""


def test_a_key_is_tried_before_anything_is_read(
    keys: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    key = shutil.copy(keys / "bot.pub", tmp_path / "alone.pub")
    nowhere = "https://nobody.invalid/fleet.git"
    for command in (
        ["reconcile", "--deployment", nowhere, nowhere],
        ["reconcile", "--watch", "--deployment", nowhere, nowhere],
        ["snapshot", "--push", nowhere, "--every", "30s", "--kubeconfig", "missing"],
    ):
        done = run(capfd, *command, "--sign-key", key)
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith(f"error[NotSigned]: signing key {key} is a public key"), command


@pytest.mark.parametrize(
    "author", ["bot", "bot@example.com", "<bot@example.com>", "Bot <bot>", "A <a@b>\n <c@d>", "A\x1b[1m <a@b>"]
)
def test_an_author_that_is_none_is_refused(author: str, fleet: Fleet, capfd: pytest.CaptureFixture[str]) -> None:
    done = run(capfd, "reconcile", "--author", author, "--deployment", fleet.deployment, fleet.source)
    assert done.code == 1
    assert "is not written like Name <name@example.com>" in done.err
    assert len(done.err.splitlines()) == 2
