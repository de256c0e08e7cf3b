"""
Problems as SARIF 2.1.0, for code scanning.

A rule is a problem code: its title, its why and its remedy are those of its page in the docs. A result keeps its fingerprint
when lines move, so that a scanner does not close an alert and open the same one anew. Scanners take so many results of a run
and no more; what is left out is counted in the document, and it is the least severe.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Sequence
from typing import Any

from gitplacer import __version__
from gitplacer.explain import LONGEST_SENTENCE
from gitplacer.formats.fingerprints import fingerprinted
from gitplacer.formats.options import Options
from gitplacer.formats.planjson import to_json
from gitplacer.plaintext import LONGEST_PATH, printable
from gitplacer.problemcodes import CODES
from gitplacer.problems import Problem, Severity

MOST = 25_000
"""Results that GitHub reads of a run."""
SHOWN = 5_000
"""Results that GitHub shows of a run, the most severe first."""

HOME = "https://github.com/gitplacer/gitplacer"
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def as_sarif(problems: Sequence[Problem], options: Options) -> str:
    """One log with one run."""
    return to_json(sarif_log(problems), indent=2)


def sarif_log(problems: Sequence[Problem], most: int = MOST) -> dict[str, Any]:
    """The log as values that JSON can hold."""
    kept = sorted(problems, key=lambda p: p.severity is not Severity.ERROR)[:most]
    codes = sorted({problem.code for problem in kept})
    run = {
        "tool": {
            "driver": {
                "name": "gitplacer",
                "semanticVersion": __version__,
                "informationUri": HOME,
                "rules": [_rule(code) for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(len(problems), len(kept))],
        "results": [_result(problem, codes, mark) for problem, mark in fingerprinted(kept)],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(code: str) -> dict[str, Any]:
    known = CODES.get(code)
    if known is None:
        return {"id": code, "shortDescription": {"text": code}}
    page = f"{HOME}/blob/main/docs/problems/{code}.md"
    return {
        "id": code,
        "shortDescription": {"text": known.title},
        "fullDescription": {"text": known.why},
        "help": {"text": known.remedy, "markdown": f"{known.remedy} [More about it]({page})"},
        "helpUri": page,
        "defaultConfiguration": {"level": str(known.severity)},
    }


def _invocation(found: int, kept: int) -> dict[str, Any]:
    """That the check itself went well, and what of it is not here."""
    notices = []
    if found > kept:
        notices.append(f"{found - kept} of {found} problems are left out: a run holds {kept} results at most")
    elif found > SHOWN:
        notices.append(f"of {found} results GitHub shows the {SHOWN} most severe")
    told = [{"level": "warning", "message": {"text": text}} for text in notices]
    return {"executionSuccessful": True, **({"toolExecutionNotifications": told} if told else {})}


def _result(problem: Problem, codes: Sequence[str], mark: str) -> dict[str, Any]:
    location = problem.location
    hint = f"\nhint: {_text(problem.hint)}" if problem.hint else ""
    return {
        "ruleId": problem.code,
        "ruleIndex": codes.index(problem.code),
        "level": str(problem.severity),
        "message": {"text": _text(problem.message) + hint},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": as_uri(location.file), "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": location.line, "startColumn": location.column},
                }
            }
        ],
        "partialFingerprints": {"primaryLocationLineHash": mark},
    }


def _text(said: str) -> str:
    """Text of a message, in which `[words](address)` would be a link."""
    return printable(said, LONGEST_SENTENCE).replace("](", "] (")


def as_uri(path: str) -> str:
    """A path as a relative URI reference. A first segment with a colon would be a scheme, so colons are escaped too."""
    return urllib.parse.quote(path[:LONGEST_PATH].encode("utf-8", "backslashreplace"), safe="/")
