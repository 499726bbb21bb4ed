"""The registry of rules, and selecting rules by code, prefix or name."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast_reading.lint import rules as package
from crosscast_reading.lint.rule import Rule

UNUSED_IGNORE = "CL990"
"""Reported by the engine itself, which knows the unused ignore comments."""
_CODE = re.compile(r"CL\d{3}")
_PREFIX = re.compile(r"CL\d{0,3}")


@cache
def all_rules() -> Mapping[str, Rule]:
    """Return code to rule, ordered by code.

    Every module in a folder of `lint.rules` has a constant `RULE`, whose topic is that of the
    folder; names that start with an underscore contain code that its rules share.
    """
    found: dict[str, Rule] = {}
    names: set[str] = set()
    for module in _modules():
        rule = importlib.import_module(module).RULE
        if rule.code in found or rule.name in names or not _CODE.fullmatch(rule.code):
            raise ValueError(f"{module}: {rule.code} {rule.name} is malformed or taken")
        found[rule.code] = rule
        names.add(rule.name)
    return dict(sorted(found.items()))


def _modules() -> Iterator[str]:
    for folder in package.__path__:
        for topic in sorted(path.name for path in Path(folder).iterdir() if path.is_dir()):
            for module in pkgutil.iter_modules([str(Path(folder, topic))]):
                if not module.name.startswith("_"):
                    yield f"{package.__name__}.{topic}.{module.name}"


def matches(word: str, rule: Rule) -> bool:
    """Whether a word from the user (code, code prefix, name, ALL) selects a rule."""
    upper = word.upper()
    if upper == "ALL" or word.lower() == rule.name:
        return True
    return bool(_PREFIX.fullmatch(upper)) and rule.code.startswith(upper)


def expand(words: Iterable[str], option: str) -> frozenset[str]:
    """Return the codes selected by words.

    Raises:
        DiagnosticError: CC951 for words that select no rule.
    """
    codes: set[str] = set()
    for word in words:
        selected = {rule.code for rule in all_rules().values() if matches(word, rule)}
        if not selected:
            raise DiagnosticError(
                Diagnostic(
                    code="CC951",
                    message=f"{option}: no rule {word!r}",
                    hint=near_rule(word),
                )
            )
        codes |= selected
    return frozenset(codes)


def find_rule(word: str) -> Rule:
    """Return the rule with a code or name.

    Raises:
        DiagnosticError: CC951 if there is none.
    """
    for rule in all_rules().values():
        if word.upper() == rule.code or word.lower() == rule.name:
            return rule
    message = f"no rule {word!r}"
    raise DiagnosticError(Diagnostic(code="CC951", message=message, hint=near_rule(word)))


def near_rule(word: str) -> str:
    """Return a hint for a word that selects no rule."""
    import difflib

    choices = [part for rule in all_rules().values() for part in (rule.code, rule.name)]
    wanted = word.upper() if word.upper().startswith("CL") else word.lower()
    near = difflib.get_close_matches(wanted, choices, n=1)
    return f"did you mean {near[0]}?" if near else "see `crosscast lint --list-rules` for all rules"
