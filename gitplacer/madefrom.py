"""
What commits say that they were made from, and who made what they carry out.

All of it follows from the inputs, so it is known before anything is planned, also to passes that plan nothing.
"""

from __future__ import annotations

import json

from gitplacer.codecommits import referred
from gitplacer.commits import PassTrailers, co_authors
from gitplacer.inputs import Inputs, SourceCommit
from gitplacer.redactor import without_credentials
from gitplacer.tree import Tree
from gitplacer.units import METADATA


def people_of(inputs: Inputs) -> list[str]:
    """
    Trailers for who made the source commit, in the first pass that carries anything of it out. What the deployment repo holds says which
    was the last one; a later pass on the same commit is the work of the clock or of the capacity.
    """
    if inputs.commit is None or _last_source(inputs.deployment) == inputs.commit.id:
        return []
    return co_authors(inputs.commit.author, inputs.commit.body)


def _last_source(deployment: Tree) -> str | None:
    """The source commit that the deployment repo was last made from, as `hydrator_metadata` says it."""
    if METADATA not in deployment or not deployment.entries[METADATA].is_text:
        return None
    try:
        fields = json.loads(deployment.read(METADATA))
    except (ValueError, RecursionError):
        return None
    said = fields.get("drySha") if isinstance(fields, dict) else None
    return said if isinstance(said, str) else None


def trailers_of(inputs: Inputs) -> PassTrailers:
    """The inputs of a pass as its commits name them."""
    return PassTrailers(
        source=inputs.commit.id if inputs.commit else "",
        capacity=inputs.capacity_id or "",
        base=inputs.deployment_commit or "",
        now=inputs.now,
        version=inputs.version,
        foreign=inputs.foreign,
        reverted=inputs.reverted,
        merged=inputs.merged,
    )


def hydrator_metadata(commit: SourceCommit) -> bytes:
    """
    The JSON that Argo CD's hydrator writes about the commit it hydrated; promoters read `drySha`. What a message holds that is plainly a
    secret goes no further than the fleet repo.
    """
    body, reference = referred(commit.body)
    fields = {
        "author": without_credentials(commit.author),
        "body": without_credentials(body),
        "date": commit.date,
        "drySha": commit.id,
        "references": [{"commit": reference}] if reference else [],
        "repoURL": commit.repo_url,
        "subject": without_credentials(commit.subject),
    }
    kept = {key: value for key, value in fields.items() if value}
    return (json.dumps(kept, indent=2, ensure_ascii=False, sort_keys=True) + "\n").encode()


def hydrator_note(commit: SourceCommit) -> str:
    """What is noted on the tip: promoters see by it that a commit of the source was looked at, even where nothing came of it."""
    return json.dumps({"drySha": commit.id})
