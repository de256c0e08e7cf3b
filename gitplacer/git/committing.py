"""
Writing to the source: one commit on a branch of a local repository, made from objects.

The source belongs to whoever works in it. So a commit is made as they would make it, in their name, and only where it cannot
surprise them: on a branch that nobody has checked out, the work tree is not touched; on the branch that is checked out, the files
of the commit appear in the work tree as well, and if one of them has changes that are not committed, nothing happens at all. No
hook is run and nothing is pushed.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path

from gitplacer.git.address import Address
from gitplacer.git.newcommits import Person
from gitplacer.git.program import CommandFailed, Git, GitError, not_started
from gitplacer.git.reading import NoSuchRevision, Repository, check_branch
from gitplacer.git.scratch import scratch_folder
from gitplacer.git.storing import stored_in
from gitplacer.git.worktree import read_work_tree
from gitplacer.tree import Changes, Entry, Tree, blob_id

_IDENT = re.compile(r"(?P<name>.*) <(?P<email>[^<>]*)> \d+ [+-]\d{4}")

_WHO = frozenset({"PATH", "HOME", "XDG_CONFIG_HOME", "EMAIL", "USER", "LOGNAME", "HOSTNAME", "TMPDIR"})


class NotWritten(GitError):
    """A commit that is not made, because it would be in somebody's way."""

    kind = "NotWritten"


class SourceBranch:
    """
    A branch of a local repository, to commit to. `base` is the commit that the next one follows, `name` the branch, and
    `is_checked_out` tells whether its files lie in the work tree of the address.
    """

    def __init__(self, address: Address, branch: str | None) -> None:
        if address.git_dir is None or not address.is_local:
            raise NotWritten(
                f"{address.redacted} is not a local repository, so nothing can be committed to it",
                hint="clone it and give the clone, or use --diff",
            )
        self._address = address
        self._git = Git(address.git_dir)
        head = self._line("symbolic-ref", "--quiet", "HEAD", check=False)
        if branch is None and not head:
            raise NotWritten("no branch is checked out", hint="check one out, or name one with --branch")
        self.name = check_branch(branch) if branch is not None else head.removeprefix("refs/heads/")
        self._ref = f"refs/heads/{self.name}"
        self.is_checked_out = address.work_tree is not None and head == self._ref
        self._old = self._line(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{self._ref}^{{commit}}", check=False
        )
        self.base = self._old or self._line("rev-parse", "--verify", "--quiet", "HEAD^{commit}", check=False)
        if not self.base:
            raise NoSuchRevision(f"{address.redacted} has no commit yet", hint="commit something first")
        elsewhere = self._line("for-each-ref", "--format=%(worktreepath)", "--end-of-options", self._ref, check=False)
        if elsewhere and address.work_tree is not None and not self.is_checked_out:
            raise NotWritten(f"branch {self.name} is checked out in {elsewhere}", hint="run this there")

    def commit(self, changes: Changes, message: str, *, author: Person, when: datetime) -> str:
        """
        Commit files that are written, by paths from the root of the repository, and return the commit. Raises GitError (NotWritten,
        NotStored, …), and then nothing has changed.
        """
        with Repository(self._address, self._git, {}) as repository:
            tree = repository.tree(self.base)
        if self.is_checked_out:
            self._refuse_dirty(tree, changes)
        new = self._commit(tree, changes, message, author, when)
        with self._laid_out(tree, changes) if self.is_checked_out else contextlib.nullcontext():
            try:
                with stored_in(self._git.git_dir):
                    self._git.run(
                        "update-ref",
                        f"-m=commit: {message.partition(chr(10))[0]}",
                        "--end-of-options",
                        self._ref,
                        new,
                        self._old or "0" * 40,
                    )
            except CommandFailed:
                raise NotWritten(f"branch {self.name} has moved in the meantime", hint="run it again") from None
        return new

    def _refuse_dirty(self, tree: Tree, changes: Changes) -> None:
        """Raise if a file of the commit is not in index and work tree as it was committed."""
        assert self._address.work_tree is not None
        lying = read_work_tree(self._address.work_tree).entries
        for path in sorted(changes.written):
            place = self._address.work_tree / path
            there = lying[path].oid if path in lying else "something" if place.exists() or place.is_symlink() else ""
            committed = tree.entries[path].oid if path in tree else ""
            if committed != self._staged(path) or committed != there:
                hint = "commit or stash that, commit to another branch (--branch), or use --diff"
                raise NotWritten(f"{path} has changes that are not committed", hint=hint)
            for above in place.relative_to(self._address.work_tree).parents:
                if (self._address.work_tree / above).is_symlink():
                    raise NotWritten(f"{above} is a symbolic link in the work tree", hint="use --branch or --diff")

    def _staged(self, path: str) -> str:
        line = self._git.run("ls-files", "--stage", "-z", "--", f":(top,literal){path}", cwd=self._cwd).decode()
        return line.split(" ")[1] if line else ""

    @property
    def _cwd(self) -> Path:
        assert self._address.work_tree is not None
        return self._address.work_tree

    def _commit(self, tree: Tree, changes: Changes, message: str, author: Person, when: datetime) -> str:
        """Write the objects; nothing refers to them yet."""
        with scratch_folder() as folder:
            own = _WithIndex(self._git.git_dir, Path(folder) / "index", author, when)
            own.run("read-tree", "--end-of-options", self.base)
            with stored_in(own.git_dir):
                lines = self._index_lines(own, tree, changes)
            own.run("update-index", "-z", "--index-info", input=lines)
            text = message.rstrip("\n").encode() + b"\n"
            with stored_in(own.git_dir):
                made = own.run("write-tree").decode().strip()
                return own.run("commit-tree", f"-p{self.base}", "--end-of-options", made, input=text).decode().strip()

    def _index_lines(self, git: Git, tree: Tree, changes: Changes) -> bytes:
        lines = []
        for path, data in sorted(changes.written.items()):
            oid = git.run("hash-object", "-w", "--no-filters", "--stdin", input=data).decode().strip()
            entry = tree.entries.get(path, Entry("100644", oid))
            lines.append(f"{entry.mode} {oid}\t{path}\0".encode())
        return b"".join(lines)

    @contextlib.contextmanager
    def _laid_out(self, tree: Tree, changes: Changes) -> Iterator[None]:
        """
        Make index and work tree those of the commit, for its files, before its branch moves: a branch that is ahead of both would have the
        next commit of somebody take back what this one does. As they were where anything fails.
        """
        places = {path: self._cwd / path for path in sorted(changes.written)}
        before = {path: place.read_bytes() if place.exists() else None for path, place in places.items()}
        try:
            with stored_in(self._git.git_dir):
                self._stage(
                    f"{tree.entries[path].mode if path in tree else '100644'} {blob_id(changes.written[path])}\t{path}\0"
                    for path in places
                )
            with stored_in(self._cwd):
                for path, place in places.items():
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_bytes(changes.written[path])
            yield
        except BaseException:
            for path, data in before.items():  # first, because that makes room
                with contextlib.suppress(OSError):
                    places[path].unlink(missing_ok=True) if data is None else places[path].write_bytes(data)
            with contextlib.suppress(GitError):
                self._stage(
                    f"{tree.entries[path].mode} {tree.entries[path].oid}\t{path}\0"
                    if path in tree
                    else f"0 {'0' * 40}\t{path}\0"
                    for path in places
                )
            raise

    def _stage(self, lines: Iterable[str]) -> None:
        self._git.run("update-index", "-z", "--index-info", input="".join(lines).encode())

    def _line(self, *args: str, check: bool = True) -> str:
        return self._git.run(*args, check=check).decode("utf-8", "replace").strip()

    def author(self) -> Person:
        """Who works here, as git knows them. Raises NotWritten if it does not."""
        found = _IDENT.fullmatch(self._user_git("-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT").strip())
        if found is None:
            hint = "git config user.name and user.email say so"
            raise NotWritten("git does not know in whose name to commit", hint=hint)
        return Person(found["name"], found["email"])

    def _user_git(self, *args: str) -> str:
        """What git prints with the user's own settings; '' if it fails. Only for what reads those and starts nothing."""
        where = self._address.work_tree or self._address.git_dir
        # What git asks the environment who somebody is; tokens that stand there for others are none of its business.
        known = {name: value for name, value in os.environ.items() if name in _WHO or name.startswith("GIT_")}
        try:
            done = subprocess.run(["git", "-C", str(where), *args], capture_output=True, check=False, env=known)
        except OSError as error:
            raise not_started(error) from None
        return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""


class _WithIndex(Git):
    """Git with an index file of its own, which makes commits in somebody's name."""

    def __init__(self, git_dir: Path, index: Path, author: Person, when: datetime) -> None:
        super().__init__(git_dir)
        self._index, self._author, self._when = index, author, when

    @functools.cached_property
    def environment(self) -> Mapping[str, str]:
        who: dict[str, str] = {"GIT_INDEX_FILE": str(self._index)}
        for role in ("AUTHOR", "COMMITTER"):
            who |= {f"GIT_{role}_NAME": self._author.name, f"GIT_{role}_EMAIL": self._author.email}
            who[f"GIT_{role}_DATE"] = f"{int(self._when.timestamp())} +0000"
        return {**super().environment, **who}
