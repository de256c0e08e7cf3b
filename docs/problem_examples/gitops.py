"""Examples of objects that go wrong when Git is what keeps them."""

from __future__ import annotations

from collections.abc import Mapping

from docs.problem_examples.example import Example

EXAMPLES: Mapping[str, tuple[Example, ...]] = {}
