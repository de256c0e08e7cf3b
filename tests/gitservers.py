"""
Real servers for repositories on this machine: smart HTTP over TLS, and ssh.

Both take a free port from the system and answer as soon as the `with` block begins, so no test waits or guesses.
"""

from __future__ import annotations

import contextlib
import getpass
import http.server
import os
import shutil
import socket
import socketserver
import ssl
import subprocess
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trustme

from gitplacer.git.address import Address
from gitplacer.git.mirror import Mirror, refs_of

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


def git(*args: str, cwd: Path, input: bytes = b"", at: str | None = None) -> str:
    """Run git as a person would, with a fixed name, at a fixed time or another. It leaves nothing that goes on in the background, as newer versions do."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TEMPLATE_DIR": "",
        **{
            f"GIT_{role}_{what}": value
            for role in ("AUTHOR", "COMMITTER")
            for what, value in {**_ADA, **({"DATE": at} if at else {})}.items()
        },
    }
    command = ["git", "-c", "maintenance.auto=false", *args]
    done = subprocess.run(command, cwd=cwd, env=environment, input=input, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")


_ADA = {"NAME": "Ada", "EMAIL": "ada@example.com", "DATE": "2026-01-02T03:04:05+01:00"}


def noting_git(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a git first on the PATH that notes the arguments and the environment of each that is started, in the file that is returned."""
    real, bin_, seen = shutil.which("git"), folder / "bin", folder / "seen"
    bin_.mkdir()
    (bin_ / "git").write_text(f'#!/bin/sh\ncat /proc/$$/cmdline /proc/$$/environ >> "{seen}"\nexec {real} "$@"\n')
    (bin_ / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin_}:/usr/bin:/bin")
    return seen


class Served:
    """An empty repository that is fetched from as from a server, and its mirror."""

    def __init__(self, folder: Path) -> None:
        self.bare = folder / "served.git"
        git("init", "-q", "--bare", "-b", "main", str(self.bare), cwd=folder)
        self.address = Address.parse(str(self.bare), base_dir=folder)
        self.mirror = Mirror(self.address, folder / "cache")

    def blob(self, data: bytes = b"x") -> str:
        return git("hash-object", "-w", "--stdin", cwd=self.bare, input=data)

    def fetch(self) -> dict[str, str]:
        return self.mirror.fetch(refs_of(self.address))

    def size(self) -> int:
        """Bytes of the files of the mirror."""
        return sum(path.stat().st_size for path in self.mirror.path.rglob("*") if path.is_file())


Guard = Callable[[str, str], tuple[int, dict[str, str], bytes] | None]
"""Given the path and query of a request and its Authorization: an answer instead of the repository's, or None."""


@contextlib.contextmanager
def https_server(root: Path, folder: Path, guard: Guard | None = None) -> Iterator[tuple[str, dict[str, str]]]:
    """Serve the repositories below `root`: the URL they are under, and the environment that makes git trust it."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))

    class Handler(GitBackend):
        project_root = str(root)
        stands_guard = staticmethod(guard or GitBackend.stands_guard)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        with serving(server):
            yield f"https://localhost:{server.server_address[1]}", {"GIT_SSL_CAINFO": str(folder / "ca.pem")}


class GitBackend(http.server.BaseHTTPRequestHandler):
    """Runs `git http-backend` as a web server runs a CGI program."""

    protocol_version = "HTTP/1.1"
    project_root = ""
    stands_guard: Guard = staticmethod(lambda path, authorization: None)

    def do_GET(self) -> None:
        self.answer()

    def do_POST(self) -> None:
        self.answer()

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def answer(self) -> None:
        body = self.body()
        refusal = self.stands_guard(self.path, self.headers.get("Authorization", ""))
        self.send(*(refusal or self.served(body)))

    def send(self, status: int, headers: dict[str, str], content: bytes, *, most: int | None = None) -> None:
        """An answer; no more than `most` bytes of its content."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[:most])

    def served(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        """What git answers: a status, headers and content."""
        url = urllib.parse.urlsplit(self.path)
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": self.project_root,
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "REQUEST_METHOD": self.command,
            "PATH_INFO": urllib.parse.unquote(url.path),
            "QUERY_STRING": url.query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "REMOTE_USER": "ada",
            "REMOTE_ADDR": "127.0.0.1",
        }
        done = subprocess.run(["git", "http-backend"], input=body, env=environment, stdout=subprocess.PIPE, check=False)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        return int(headers.pop("Status", "200").split()[0]), headers, content

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextlib.contextmanager
def ssh_server(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Serve this machine's files to this user: the URL that `/` is under, and the environment that lets git in."""
    assert SSHD
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd run by root wants its empty directory
    (folder / "sshd_config").write_text(
        f"HostKey {folder}/host\nAuthorizedKeysFile {folder}/user.pub\nStrictModes no\nUsePAM no\nPidFile none\n"
        "PasswordAuthentication no\nAcceptEnv GIT_PROTOCOL\nLogLevel ERROR\n"
    )

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            connection: int = self.request.fileno()
            command = [str(SSHD), "-i", "-e", "-f", str(folder / "sshd_config")]
            subprocess.run(command, stdin=connection, stdout=connection, stderr=subprocess.DEVNULL, check=False)

    with _Server(("127.0.0.1", 0), Handler) as server:
        port = server.server_address[1]
        key = " ".join((folder / "host.pub").read_text().split()[:2])
        (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {key}\n")
        options = ("BatchMode=yes", "IdentitiesOnly=yes", f"UserKnownHostsFile={folder}/known_hosts")
        client = " ".join(("ssh -F none", f"-i {folder}/user", *(f"-o {option}" for option in options)))
        with serving(server):
            yield f"ssh://{getpass.getuser()}@127.0.0.1:{port}", {"GIT_SSH_COMMAND": client}


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


@contextlib.contextmanager
def serving(server: socketserver.BaseServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()


def closed_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
