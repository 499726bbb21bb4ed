"""The registry of rules, and selecting rules by code, prefix or name."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.targets.source_support import installed_support, modules_of, not_loaded
from crosscast_reading.lint.rule import Rule, RuleForm
from crosscast_reading.lint.written_pages import words_of_page

UNUSED_IGNORE = "CL990"
"""Reported by the engine itself, which knows the unused ignore comments."""
_CODE = re.compile(r"CL\d{3}")
_PREFIX = re.compile(r"CL\d{0,3}")


def all_rules() -> Mapping[str, Rule]:
    """Return code to rule, ordered by code.

    Every module in a folder of a package of rules (`SourceSupport.rules`) has a constant `RULE`, or
    `FORMS` of rules of other packages; names that start with an underscore contain code that its
    rules share.
    """
    return _load()[0]


def rule_problems() -> tuple[Diagnostic, ...]:
    """Return a diagnostic for every rule that does not load, or whose code or name is taken."""
    return _load()[1]


@cache
def _load() -> tuple[dict[str, Rule], tuple[Diagnostic, ...]]:
    rules_by_code: dict[str, Rule] = {}
    forms: dict[str, tuple[RuleForm, ...]] = {}
    problems: list[Diagnostic] = []
    names: set[str] = set()
    for name in _modules(problems):
        try:
            module = importlib.import_module(name)
            if hasattr(module, "FORMS"):
                forms[name] = _checked(module.FORMS)
                continue
            rule = _complete(module.RULE, name)
            taken = rule.code in rules_by_code or rule.name in names
            if taken or not rule.name or not _CODE.fullmatch(rule.code):
                raise ValueError(f"{rule.code} {rule.name} is malformed or taken")
        except Exception as error:  # a third-party package may raise anything on import
            problems.append(not_loaded(f"rule {name}", error))
        else:
            rules_by_code[rule.code] = rule
            names.add(rule.name)
    for name, form in ((name, form) for name, several in forms.items() for form in several):
        if form.rule in rules_by_code:
            rule = rules_by_code[form.rule]
            rules_by_code[form.rule] = replace(rule, forms=(*rule.forms, form))
        else:
            problems.append(not_loaded(f"rule {name}", LookupError(f"no rule {form.rule}")))
    return dict(sorted(rules_by_code.items())), tuple(problems)


def _complete(rule: object, module: str) -> Rule:
    """Return a rule with the topic of its folder and the words of its page."""
    if not isinstance(rule, Rule):
        raise TypeError("RULE is no Rule")
    words = {} if rule.title else words_of_page(rule.code)
    words["topic"] = rule.topic or module.split(".")[-2].replace("_", " ")
    return replace(rule, **words)


def _checked(forms: Iterable[object]) -> tuple[RuleForm, ...]:
    given = tuple(forms)
    rule_forms = tuple(form for form in given if isinstance(form, RuleForm))
    if rule_forms != given:
        raise TypeError("FORMS has something that is no RuleForm")
    return rule_forms


def _modules(problems: list[Diagnostic]) -> Iterator[str]:
    for support in installed_support().values():
        if support.rules:
            try:
                yield from modules_of(support.rules, in_folders=True)
            except Exception as error:  # as above
                problems.append(not_loaded(f"rules {support.rules}", error))


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
