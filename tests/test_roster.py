"""A gang that is asked about again and again is the same gang."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

from hypothesis import given

from gitplacer.model.workload import Gang, PodSet, PodShape, Roster
from tests.test_survey import GANGS


@given(gang=GANGS)
def test_a_roster_is_its_gang(gang: Gang) -> None:
    roster = Roster.of(gang)
    assert roster == gang
    assert hash(roster) == hash(gang)
    assert {gang: 1}[roster] == {roster: 1}[gang] == 1
    assert Roster.of(roster) is roster
    assert sum(roster.counts.values()) == sum(pods.count for pods in gang)
    assert roster.present == {shape: count for shape, count in roster.counts.items() if count}
    assert sum(count for _, count in roster.sorts) == sum(pods.count for pods in gang)
    assert pickle.loads(pickle.dumps(roster)) == gang


def test_a_roster_goes_to_a_process_where_strings_hash_differently() -> None:
    roster = Roster.of((PodSet("head", 1, PodShape(node_name="n")),))
    hash(roster)
    code = (
        "import pickle, sys; roster = pickle.loads(sys.stdin.buffer.read()); print(hash(roster) == hash(tuple(roster)))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    told = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(roster), capture_output=True, check=True, env=environment
    )
    assert told.stdout == b"True\n"
