"""
Expressions in CEL over a plan: compiled before anything is run, evaluated in counted steps, and explained where they are false.

The parser, the values and the operators are those of cel-python. This is the only place that imports it, and only those who have
expressions import this: it comes with the extra `gitplacer[cel]`. What is added here is what a test needs and a library cannot
know: the plan's own vocabulary, so that a misspelt field is found before it quietly makes a claim true; an end to every
evaluation; and the first counter-examples of what does not hold.
"""

from gitplacer.scenarios.cel.checking import Expression, Mistake, compiled
from gitplacer.scenarios.cel.evaluating import Facts, holds
from gitplacer.scenarios.cel.whyfalse import why_false

__all__ = ["Expression", "Facts", "Mistake", "compiled", "holds", "why_false"]
