"""
What a commit says of itself: whatever its bytes are it is read, what is believed is what a pass would have written, line by line, and what we
copy of it into our own commits stays on its line.
"""

from __future__ import annotations

from unittest import mock

from fuzzing.target import Target, expect
from gitplacer import trailers
from gitplacer.commits import co_authors, foreign_path
from gitplacer.git.objects import Object
from gitplacer.git.reading import parse_commit
from gitplacer.plaintext import UNSEEN


def check(data: bytes) -> None:
    commit = parse_commit(Object("0" * 40, "commit", data))
    expect("\n" not in commit.subject, "the subject has more than one line")
    trailers.instant(commit.date)
    for key, value in commit.trailers:
        expect(bool(key) and "\n" not in key + value, "a trailer has more than one line")
        foreign_path(value)
        trailers.heard_in(key, value)
        path, _ = trailers.foreign_in(value)
        expect(isinstance(path, str), "a path is no text")
    found = trailers.read_claim(commit.trailers)
    if isinstance(found, trailers.ProvenanceClaim):
        expect(trailers.is_ours(commit.trailers), "a claim is of nobody")
        wanted = found.inputs.lines(found.step, found.steps)
        said = [f"{key}: {value}" for key, value in commit.trailers]
        expect(said[: len(wanted)] == wanted, "what is believed is not what would be written")
        expect(1 <= found.step <= found.steps <= trailers.MOST_STEPS, "its step is none")
    people = co_authors(f"{commit.author_name} <{commit.author_email}>", commit.body)
    expect(not any(UNSEEN.search(line) for line in people), "a co-author has what cannot be seen")


TARGET = Target(
    check=check,
    bug="trailers that no pass would write are believed",
    planted=lambda: mock.patch.object(trailers, "_unwritten", lambda said, claim: None),
    longest=2000,
)
