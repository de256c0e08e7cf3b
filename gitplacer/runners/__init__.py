"""
Many questions about one fleet, asked at the same time: in processes of this machine, or on a Ray cluster. And one question at a time to a
process that may die of it (`isolated`).

A runner is given a function of one question, the questions, and whom to tell how many are answered. Answers come in the order of the
questions and are the same whoever runs them.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager

Told = Callable[[int], None]
"""Told how many questions are answered."""

Telling = Callable[[], AbstractContextManager[Told]]
"""Opens what is told. It is opened late, because who tells may have threads, and processes are forked before there are any."""
