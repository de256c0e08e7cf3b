"""`gitplacer reconcile --watch` as a process with everything on: woken by a webhook, asked by probes, heard of by notices, ended by a signal."""

from __future__ import annotations

import json
import re
import signal
import time
from pathlib import Path

import pytest

from tests.fleetrepos import made
from tests.stories import cluster, rayservice
from tests.test_hook_payloads import github
from tests.test_hook_signatures import SECRET, signed
from tests.test_listeners import LOCAL, ask
from tests.test_telemetry import Receiver, receiver
from tests.test_watching import lines_until, watching

pytestmark = pytest.mark.server
__all__ = ["receiver"]


def secret(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text)
    file.chmod(0o600)
    return file


def test_a_webhook_is_followed_and_everybody_is_told(tmp_path: Path, receiver: Receiver) -> None:
    fleet = made(tmp_path)
    key, url = secret(tmp_path, "key", SECRET), secret(tmp_path, "url", receiver.url)
    options = [
        "--interval", "1h", "--full-every", "1h", "--batch", "0s", "--log-format", "json",
        "--hooks-listen", LOCAL, "--hooks-secret-file", f"github={key}", "--metrics-listen", LOCAL, "--report-listen", LOCAL,
        "--notify-url-file", str(url), "--notify-secret-file", str(key),
    ]  # fmt: skip
    with watching(fleet, *options) as process:
        lines = [json.loads(line) for line in lines_until(process, '"Published"')]
        said = dict(re.fullmatch(r"(\w+) on .*:(\d+)", line["message"]).groups() for line in lines[:3])  # type: ignore[union-attr]
        hooks, metrics, report = (int(said[name]) for name in ("hooks", "metrics", "report"))
        assert ask(metrics, "/readyz").status == ask(metrics, "/healthz").status == ask(report, "/").status == 200
        while 'gitplacer_reconcile_total{result="Unchanged"} 1.0' not in ask(metrics, "/metrics").body.decode():
            time.sleep(0.05)  # what was published is being settled
        fleet.commit(rayservice("prod", "new") | cluster("a", state="Draining"))
        body = json.dumps(github()).encode()
        headers = {"content-type": "application/json", **signed("github", body)}
        assert (
            ask(hooks, "/hooks/github", "POST", body, **{**headers, "x-hub-signature-256": "sha256=" + "0" * 64}).status
            == 401
        )
        assert ask(hooks, "/hooks/github", "POST", body, **headers).status == 202
        (published,) = [json.loads(line) for line in lines_until(process, '"Published"')]  # the forged one woke nobody
        assert (published["turn"], published["deployment"]) == (3, fleet.git("rev-parse", "main"))
        assert published["moved"] == ["prod/api"]
        receiver.wait(1)
        assert json.loads(receiver.got[0][3])["data"]["group"] == "prod/api"
        numbers = ask(metrics, "/metrics").body.decode()
        assert 'gitplacer_webhook_total{provider="github",result="followed"} 1.0' in numbers
        assert 'gitplacer_moves_total{phase="Whole",result="done"} 1.0' in numbers
        assert 'gitplacer_git_request_total{repo="deployment",request_type="push"} 2.0' in numbers
        assert b"prod/new" in ask(report, "/").body
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        rest = [json.loads(line) for line in process.stderr.read().splitlines()]
    assert process.returncode == 0 and rest[-1]["message"] == "stopped"


def test_a_port_that_is_taken_ends_it_before_its_first_pass(tmp_path: Path, receiver: Receiver) -> None:
    fleet = made(tmp_path)
    with watching(fleet, "--metrics-listen", receiver.url.removeprefix("http://")) as process:
        assert process.stderr is not None
        said = process.stderr.read().splitlines()
        assert process.wait(60) == 1
    assert "--metrics-listen: cannot listen on 127.0.0.1" in said[0] and said[1].startswith("  hint: another program")
    assert fleet.git("for-each-ref") == ""
