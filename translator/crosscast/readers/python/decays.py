"""Which decay the names of functions, and the formulas in them, mean."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from crosscast.pysource.syntax.nodes import walk
from crosscast.readers.python.expression_sources import ExpressionSources

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span

_NAMES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.I), word)
    for pattern, word in (
        (r"noam", "noam"),
        (r"one_?cycle", "onecycle"),
        (r"cosine", "cosine"),
        (r"polynomial|poly_?(decay|lr|schedule)", "poly"),
        (r"piecewise\w*warm_?up", "step_custom"),
        (r"piecewise|multi_?step(decay|_?lr)?$", "multistep"),
        (r"^stepdecay$|^step_?lr$", "step"),
        (r"stepwise|step_?(decay|lr)", "step"),
        (r"exponential|exp_?decay|natural_?exp|inverse_?time", "exponential"),
        (r"plateau", "plateau"),
        (r"rsqrt|inverse_?sqrt|reciprocal_?sqrt", "rsqrt"),
        (r"linear_?(warmup_?)?(and_?linear_?)?(decay|schedule|lr)|warmup_(and_)?linear|linear_decay",
         "linear"),
    )
)  # fmt: skip
NOT = re.compile(r"weight_?decay|ExponentialMovingAverage|moving|global_step|checkpoint", re.I)
_COSINE = re.compile(r"\bcos\(")
_POWER = re.compile(r"\bpow\(|\*\* ?(power|self\._?power)")
_FALL = re.compile(
    r"\(\s*\w*(total|max|num)\w*\s*-\s*\w*step\w*\s*\)"
    r"|float\(\s*\w*(total|train|max|num)\w* - \w+\s*\)"
    r"|1(\.0?)? ?- ?[\w.()]+ ?/ ?\w*(total|max|num|step)"
)
_ROOT = re.compile(r"\brsqrt\(|\*\* ?\(?-0?\.5")


def named(name: str) -> str:
    """Return the decay that the name of a function means; empty if it means none."""
    for pattern, word in _NAMES:
        if pattern.search(name):
            return word
    return ""


def formulas(found: ExpressionSources) -> Iterator[tuple[str, Span, bool]]:
    """Yield the decays that functions of the program (or lambdas) compute themselves."""
    for node, module in found.places:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            inner = [n for n in walk(node) if isinstance(n, ast.Lambda)]
            if not inner:
                continue
        name = getattr(node, "name", "")
        text = module.text(node)
        word = named(name)
        if not word:
            if _COSINE.search(text):
                word = "cosine"
            elif _ROOT.search(text):
                word = "rsqrt" if "warmup" not in text else "noam"
            elif _POWER.search(text):
                word = "poly"
            elif _FALL.search(text):
                word = "linear"
        if word and not (name and NOT.search(name)):
            yield word, module.span(node), bool(named(name))


def words_of(names: Iterable[str]) -> str:
    """Return the decay that names of functions mean; empty if they mean none, or several."""
    found = {word for word in map(named, names) if word}
    return found.pop() if len(found) == 1 else ""
