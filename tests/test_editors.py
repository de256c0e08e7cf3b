"""What `init` tells editors is what a real YAML language server makes of it: it finds the schema, marks slips, explains and completes."""

from __future__ import annotations

import json
import queue
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.commands import run

Capture = pytest.CaptureFixture[str]
SERVER = shutil.which("yaml-language-server")
pytestmark = [
    pytest.mark.server,
    pytest.mark.slow,
    pytest.mark.skipif(SERVER is None, reason="there is no yaml-language-server: npm install -g yaml-language-server"),
]
PATIENCE = 60


class Client:
    """An editor, as far as the language server sees one."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path, settings: dict[str, Any]) -> None:
        self._process, self._folder, self._settings = process, folder, settings
        self._heard: queue.Queue[dict[str, Any]] = queue.Queue()
        self._number = 0
        threading.Thread(target=self._listen, daemon=True).start()

    def begin(self) -> None:
        here = self._folder.as_uri()
        self.ask(
            "initialize",
            {
                "processId": None, "rootUri": here, "workspaceFolders": [{"uri": here, "name": "fleet"}],
                "capabilities": {"workspace": {"configuration": True, "workspaceFolders": True}},
            },
        )  # fmt: skip
        self._send({"method": "initialized", "params": {}})
        self._send({"method": "workspace/didChangeConfiguration", "params": {"settings": {"yaml": self._settings}}})

    def problems(self, path: str) -> list[str]:
        """What is marked in a file."""
        uri = (self._folder / path).as_uri()
        text = (self._folder / path).read_text()
        document = {"uri": uri, "languageId": "yaml", "version": 1, "text": text}
        self._send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        while True:
            found = self._next()
            if found.get("method") == "textDocument/publishDiagnostics" and found["params"]["uri"] == uri:
                return [marked["message"] for marked in found["params"]["diagnostics"]]

    def at(self, what: str, path: str, text: str, column: int = 0) -> Any:
        """The answer about a place in a file that is open: the first line with a text."""
        lines = (self._folder / path).read_text().split("\n")
        line = next(number for number, found in enumerate(lines) if text in found)
        place = {"line": line, "character": lines[line].index(text) + column}
        return self.ask(
            f"textDocument/{what}", {"textDocument": {"uri": (self._folder / path).as_uri()}, "position": place}
        )

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        while True:
            found = self._next()
            if found.get("id") == self._number and "method" not in found:
                return found["result"]

    def _next(self) -> dict[str, Any]:
        found = self._heard.get(timeout=PATIENCE)
        if "id" in found and "method" in found:  # the server asks
            items = found["params"].get("items", []) if found["method"] == "workspace/configuration" else []
            told = [self._settings if item.get("section") == "yaml" else {} for item in items]
            self._send({"id": found["id"], "result": told if items else None})
        return found

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        self._process.stdin.flush()

    def _listen(self) -> None:
        out = self._process.stdout
        assert out is not None
        while head := out.readline():
            while (line := out.readline()).strip():
                head = line if line.startswith(b"Content-Length") else head
            self._heard.put(json.loads(out.read(int(head.split(b":")[1]))))


@contextmanager
def editor(folder: Path) -> Iterator[Client]:
    """An editor that has the folder open, with the settings that stand in it."""
    place = folder / ".vscode/settings.json"
    own = json.loads(place.read_text())["yaml.schemas"] if place.exists() else {}
    settings = {"validate": True, "hover": True, "completion": True, "schemaStore": {"enable": False}, "schemas": own}
    assert SERVER is not None
    with subprocess.Popen([SERVER, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder) as process:
        try:
            client = Client(process, folder, settings)
            client.begin()
            yield client
        finally:
            process.kill()


@pytest.mark.parametrize("how", ["vscode", "modeline"])
def test_a_language_server_finds_the_schema(capfd: Capture, tmp_path: Path, how: str) -> None:
    fleet = tmp_path / "fleet"
    assert run(capfd, "init", fleet, "--editor", how).code == 0
    cluster, policy = fleet / "clusters/my-cluster.yaml", fleet / "policies/general.yaml"
    cluster.write_text(cluster.read_text().replace("  state: Active", "  statee: Active"))
    policy.write_text(policy.read_text().replace("type: Capacity", "type: Capcity"))
    with editor(fleet) as client:
        assert client.problems("clusters/my-cluster.yaml") == ["Property statee is not allowed."]
        assert client.problems("policies/general.yaml") == [
            'Value is not accepted. Valid values: "Capacity", "Cheapest", "Divide", "Ordered".'
        ]
        for path in ("fleet.yaml", "capacity/my-cluster.yaml", "workloads/hello/raycluster.yaml"):
            assert client.problems(path) == [], path
        told = client.at("hover", "clusters/my-cluster.yaml", "region:", 1)
        assert "region" in json.dumps(told)
        offered = client.at("completion", "clusters/my-cluster.yaml", "statee", 4)
        assert "state" in {item["label"] for item in offered["items"]}
