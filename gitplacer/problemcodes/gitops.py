"""Problems of objects that are right in themselves, and go wrong when Git is what keeps them."""

from __future__ import annotations

from collections.abc import Mapping

from gitplacer.problemcodes.code import Code

CODES: Mapping[str, Code] = {}
