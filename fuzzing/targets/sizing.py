"""
Whole objects into facts and rules: no pod asks for less than nothing, totals are the sum of the pods, and an object is the same to us however
its YAML is written.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from fuzzing.target import FILE, Target, expect, expect_well_said
from gitplacer import sizing
from gitplacer.documents import Document, parse
from gitplacer.model import quantity
from gitplacer.problems import Severity
from gitplacer.source.files import read_document
from gitplacer.workloads import requests


def check(data: bytes) -> None:
    for index, item in enumerate(parse(data).documents):
        _, problems = read_document(Document(FILE, item, index, lambda: data))
        expect_well_said(data, problems)
    found = sizing.sizes({FILE: data})
    expect_well_said(data, found.problems)
    for sized in found.objects:
        _check_sums(sized)
        if any(problem.severity is Severity.ERROR for problem in found.problems):
            continue
        rewritten = json.dumps(sized.document.value).encode()
        again = sizing.sizes({FILE: rewritten}).objects
        if again:  # a claim's template, or the declaration of the kind, may stand beside it
            expect(again[0].facts.gang == sized.facts.gang, "another spelling has another size")


def _check_sums(sized: sizing.Sized) -> None:
    sums: dict[str, int] = {}
    for pods in sized.facts.gang:
        expect(pods.count >= 0, "there are fewer pods than none")
        for name, amount in pods.shape.requests.items():
            expect(amount >= 0, f"a pod asks for {amount} {name}")
            sums[name] = sums.get(name, 0) + amount * pods.count
    total = {name: amount for name, amount in sized.total.items() if amount}
    expect(total == {name: amount for name, amount in sums.items() if amount}, "the total is not the sum of the pods")


@contextmanager
def _any_sign() -> Iterator[None]:
    with mock.patch.object(
        quantity, "amount", lambda name, text: int(quantity.parse(text) * (1000 if name == "cpu" else 1))
    ):
        yield
    requests._usual.cache_clear()  # it would remember what it took


TARGET = Target(
    check=check,
    bug="a negative quantity is an amount",
    planted=_any_sign,
    structured=True,
)
