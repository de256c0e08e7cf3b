"""
Signatures of commits, by ssh or OpenPGP keys, made and checked on the bytes of a commit object.

Commits are made by `git fast-import`, which cannot sign; so the object is signed afterwards, as git itself would do it: what is
signed is the object without its signature, and the signature becomes the header `gpgsig`. ssh-keygen and gpg do the work. A
passphrase is asked of nobody: an agent holds the key, or signing fails.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct, field

from gitplacer.git.program import GitError, cause
from gitplacer.git.scratch import scratch_folder
from gitplacer.git.secretfiles import private_file
from gitplacer.model.signers import Flaw
from gitplacer.plaintext import printable

_HEADER = b"gpgsig"
_ALSO_SIGNATURES = (b"gpgsig-sha256",)
_FINGERPRINT = re.compile(r"[0-9A-F]{40}(?:[0-9A-F]{24})?")
_SSH_KEY = re.compile(r"(?:sk-)?(?:ssh|ecdsa)-[a-z0-9@.-]+ +[A-Za-z0-9+/]+={0,3}")
_PGP_KEY = "-----BEGIN PGP PUBLIC KEY BLOCK-----"
_PGP, _SSH = b"-----BEGIN PGP SIGNATURE-----", b"-----BEGIN SSH SIGNATURE-----"
_GOOD = re.compile(rb"^\[GNUPG:\] GOODSIG ", re.MULTILINE)
_OF_ANOTHER_KEY = re.compile(rb"^\[GNUPG:\] (?:NO_PUBKEY|EXPKEYSIG|REVKEYSIG|EXPSIG) ", re.MULTILINE)
_LONGEST_SIGNATURE = 32 * 1024
_PASSED_ON = ("PATH", "HOME", "TMPDIR", "GNUPGHOME", "SSH_AUTH_SOCK", "GPG_AGENT_INFO")

_FRAME = re.compile(r"@|Signing |WARNING|gpg: WARNING")
"""Lines of ssh-keygen and gpg that do not say what is wrong."""
_NO_KEY = (
    "holds no private ssh key",
    "give a private key as ssh-keygen makes it, the file without .pub, or gpg:FINGERPRINT",
)
_SSH_SAYS = MappingProxyType(
    {
        "passphrase": (
            "",
            "the key has a passphrase, which nobody can be asked for: put the key into an ssh agent (ssh-add)",
        ),
        "No private key found": (
            "is a public key, and no ssh agent holds the private one",
            "give the private key, the file without .pub, or put it into an ssh agent (ssh-add)",
        ),
        "invalid format": _NO_KEY,
        "Couldn't load public key": _NO_KEY,
    }
)
_GPG_SAYS = MappingProxyType(
    {
        "No pinentry": (
            "",
            "the key has a passphrase, which nobody can be asked for: let gpg-agent hold it, or use a key without",
        ),
        "No secret key": ("", "import the secret key (gpg --import), and set GNUPGHOME to where it is"),
    }
)
"""What is wrong with the key ('' where the program says it well) and what to do, by what the program says."""


class NotSigned(GitError):
    """A commit that cannot be signed."""

    kind = "NotSigned"


class SigningKey(Struct, frozen=True):
    """
    What commits are signed with: an OpenPGP key by its fingerprint, or a file with a private ssh key. A public one will do if an
    agent holds the other half.
    """

    fingerprint: str = ""
    file: Path | None = None

    @staticmethod
    def parse(text: str, *, base_dir: Path) -> SigningKey:
        """The key that `gpg:FINGERPRINT` or a path names, relative to `base_dir`. Raises GitError."""
        if text.startswith("gpg:"):
            fingerprint = re.sub(r"\s", "", text[len("gpg:") :]).upper()
            if not _FINGERPRINT.fullmatch(fingerprint):
                hint = "`gpg --list-secret-keys --with-colons` has it, in the line that begins with fpr"
                raise NotSigned(f'"{printable(text)}" does not name a key by its whole fingerprint', hint=hint)
            return SigningKey(fingerprint=fingerprint)
        path = (base_dir / text).absolute()
        try:
            with path.open("rb") as file:
                beginning = file.read(40)
        except OSError as error:
            hint = "give the file of an ssh key, or gpg:FINGERPRINT"
            raise NotSigned(f"cannot read signing key {printable(text)}: {error.strerror}", hint=hint) from None
        if not beginning.startswith((b"ssh-", b"ecdsa-", b"sk-")):
            private_file(path, "signing key")
        return SigningKey(file=path)

    def sign(self, payload: bytes) -> bytes:
        """The armoured signature of some bytes. Raises GitError."""
        if self.file is not None:
            command = ["ssh-keygen", "-Y", "sign", "-n", "git", "-f", str(self.file)]
            return _signature(command, payload, printable(str(self.file)), _SSH_SAYS)
        command = ["gpg", "--batch", "--no-tty", "--pinentry-mode", "error", "--quiet", "--armor", "--detach-sign"]
        return _signature([*command, "--local-user", self.fingerprint], payload, self.fingerprint, _GPG_SAYS)


def signed(commit: bytes, key: SigningKey) -> bytes:
    """The bytes of a commit object with our signature, in place of any that it had. Raises NotSigned."""
    payload = unsigned(commit)
    head, _, message = payload.partition(b"\n\n")
    lines = key.sign(payload).strip().split(b"\n")
    return head + b"\n" + _HEADER + b" " + b"\n ".join(lines) + b"\n\n" + message


def unsigned(commit: bytes) -> bytes:
    """The bytes of a commit object without signatures: what a signature is made of."""
    return _split(commit)[0]


def is_signed(commit: bytes) -> bool:
    """Whether there is a signature in a commit object; not whether it is worth anything."""
    return bool(_split(commit)[1])


class AllowedKeys(Struct, frozen=True):
    """
    Who may sign: names, and for each the public keys that are theirs, as text: `ssh-ed25519 AAAA…` in a line, or an armoured
    OpenPGP block. Options and comments of an ssh key do not count.
    """

    keys: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def unreadable(self) -> list[str]:
        """The names that have something which is no public key."""
        return sorted(name for name, keys in self.keys.items() if not all(map(_is_key, keys)))


def verified(commit: bytes, allowed: AllowedKeys) -> str | None:
    """
    The name whose key has signed a commit object; None where it is not signed, by nobody who is named, or not this.
    Raises GitError where the program that would know is not there.
    """
    payload, signatures = _split(commit)
    # Git would join several; a commit of anybody who means well has one.
    if len(signatures) != 1 or len(signatures[0]) > _LONGEST_SIGNATURE:
        return None
    signature = signatures[0]
    with scratch_folder() as folder:
        (folder / "signature").write_bytes(signature + b"\n")
        if signature.startswith(_SSH):
            return _verified_by_ssh(payload, folder, allowed)
        if signature.startswith(_PGP):
            return _verified_by_gpg(payload, folder, allowed)
    return None


def flaw(commit: bytes, allowed: AllowedKeys) -> Flaw:
    """Why `verified` knows nobody who has signed a commit object. Raises GitError where the program that would know is not there."""
    payload, signatures = _split(commit)
    if not signatures:
        return Flaw.UNSIGNED
    if len(signatures) != 1 or len(signatures[0]) > _LONGEST_SIGNATURE:
        return Flaw.DAMAGED
    with scratch_folder() as folder:
        (folder / "signature").write_bytes(signatures[0] + b"\n")
        if signatures[0].startswith(_SSH):
            given = ["-n", "git", "-s", str(folder / "signature")]
            is_right = _run(["ssh-keygen", "-Y", "check-novalidate", *given], payload).returncode == 0
        else:
            # Without its key nobody knows whether an OpenPGP signature is right.
            every = [key for keys in allowed.keys.values() for key in keys]
            done = _asked_gpgv(payload, folder, every) if signatures[0].startswith(_PGP) else None
            is_right = done is not None and _OF_ANOTHER_KEY.search(done.stdout) is not None
    return Flaw.OTHER_KEY if is_right else Flaw.DAMAGED


def _split(commit: bytes) -> tuple[bytes, list[bytes]]:
    """A commit object without its signatures, and these."""
    head, gap, message = commit.partition(b"\n\n")
    kept: list[bytes] = []
    signatures: list[bytes] = []
    taking: list[bytes] | None = None
    for line in head.split(b"\n"):
        name, _, value = line.partition(b" ")
        if name:
            taking = None
        if name == _HEADER or name in _ALSO_SIGNATURES:
            taking = [value]
            signatures.append(value)
        elif taking is not None:
            taking.append(line[1:])
            signatures[-1] = b"\n".join(taking)
        else:
            kept.append(line)
    return b"\n".join(kept) + gap + message, signatures


def _verified_by_ssh(payload: bytes, folder: Path, allowed: AllowedKeys) -> str | None:
    names: dict[str, str] = {}
    lines = []
    for name, keys in sorted(allowed.keys.items()):
        for key in keys:
            found = _SSH_KEY.match(key.strip())
            if found:
                # A principal is a pattern; a number of ours is none.
                names[f"key{len(names)}"] = name
                lines.append(f'key{len(names) - 1} namespaces="git" {found[0]}\n')
    (folder / "allowed").write_text("".join(lines), "utf-8")
    where = ["-f", str(folder / "allowed"), "-s", str(folder / "signature")]
    found_by = _run(["ssh-keygen", "-Y", "find-principals", *where], b"")
    principal = found_by.stdout.decode("utf-8", "replace").split("\n")[0].strip()
    if found_by.returncode != 0 or principal not in names:
        return None
    done = _run(["ssh-keygen", "-Y", "verify", "-n", "git", "-I", principal, *where], payload)
    return names[principal] if done.returncode == 0 else None


def _verified_by_gpg(payload: bytes, folder: Path, allowed: AllowedKeys) -> str | None:
    for name, keys in sorted(allowed.keys.items()):
        done = _asked_gpgv(payload, folder, keys) if any(map(_is_pgp_key, keys)) else None
        # gpgv takes a key that has expired or was revoked as well, but says GOODSIG of no such.
        if done is not None and done.returncode == 0 and _GOOD.search(done.stdout):
            return name
    return None


def _asked_gpgv(payload: bytes, folder: Path, keys: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    """What gpgv says of the signature in a folder, if it knows the OpenPGP keys among some."""
    home = ("--homedir", str(folder))
    blocks = [key for key in keys if _is_pgp_key(key)]
    rings = [_run(["gpg", *home, "--batch", "--quiet", "--dearmor"], block.encode()) for block in blocks]
    (folder / "ring").write_bytes(b"".join(ring.stdout for ring in rings if ring.returncode == 0))
    command = ["gpgv", *home, "--quiet", "--status-fd", "1", "--keyring", str(folder / "ring")]
    return _run([*command, str(folder / "signature"), "-"], payload)


def _is_pgp_key(text: str) -> bool:
    return text.strip().startswith(_PGP_KEY)


def _is_key(text: str) -> bool:
    return bool(_SSH_KEY.match(text.strip())) or _is_pgp_key(text)


def _signature(command: list[str], payload: bytes, key: str, known: Mapping[str, tuple[str, str]]) -> bytes:
    done = _run(command, payload)
    if done.returncode == 0 and done.stdout.startswith((_PGP, _SSH)):
        return done.stdout
    said = done.stderr.decode("utf-8", "replace")
    wrong, hint = next((found for part, found in known.items() if part in said), ("", ""))
    if wrong:
        raise NotSigned(f"signing key {key} {wrong}", hint=hint)
    lines = [line for line in said.splitlines() if not _FRAME.match(line.strip())]
    raise NotSigned(f"{command[0]} does not sign: {cause(chr(10).join(lines))}", hint=hint)


def _run(command: list[str], given: bytes) -> subprocess.CompletedProcess[bytes]:
    """
    A program with our input, which can ask nobody anything: it has no terminal, and the program it would ask with says no.
    """
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    environment |= {"LC_ALL": "C", "SSH_ASKPASS": "false", "SSH_ASKPASS_REQUIRE": "force"}
    try:
        return subprocess.run(
            command, input=given, env=environment, cwd="/", capture_output=True, check=False, start_new_session=True
        )
    except OSError as error:
        hint = f"install {'openssh-client' if command[0] == 'ssh-keygen' else 'gnupg and gpgv'}"
        raise GitError(f"cannot run {command[0]}: {error.strerror}", "NotSigned", hint) from None
