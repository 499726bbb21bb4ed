"""Bindings of gin: `train.lr = 3e-4` sets a parameter of a configurable function."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping

from crosscast.messages.source import Source
from crosscast_reading.pysource.values.value import Known, Unknown, Value

_BINDING = re.compile(r"^(?P<scope>[\w./]+/)?(?P<name>[\w.]+)[ \t]*=[ \t]*(?P<value>.*)$")
_MACRO = re.compile(r"%([\w./]+)")
_MAX_LINES = 40
"""Longer values hold no number that trains."""


def gin_bindings(sources: Iterable[Source]) -> dict[str, Value]:
    """Return `function.parameter` to value, of all files with the suffix `.gin` in their order.

    What is bound in a scope (`eval/train.lr`) holds for some calls only, so it is unknown.
    """
    bindings: dict[str, Value] = {}
    macros: dict[str, Value] = {}
    for source in sources:
        if not source.name.endswith(".gin"):
            continue
        for scope, name, text in _statements(source.text):
            *_, owner, parameter = ("", *name.split("."))
            if scope:
                bindings[f"{owner}.{parameter}"] = Unknown(text[:200], "bound in a scope", "config")
            elif owner:
                bindings[f"{owner}.{parameter}"] = _value(text, macros)
            else:
                macros[parameter] = _value(text, macros)
    return bindings


def _statements(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the scope, name and value of every binding; brackets may span lines."""
    lines = [_without_comment(line).rstrip() for line in text.splitlines()]
    while lines:
        binding = _BINDING.match(lines.pop(0))
        if binding is None:
            continue
        value = binding["value"]
        for _ in range(_MAX_LINES):
            opened = sum(map(value.count, "([{")) - sum(map(value.count, ")]}"))
            if not lines or (opened <= 0 and value and not value.endswith("\\")):
                break
            value = f"{value.removesuffix(chr(92))} {lines.pop(0).strip()}"
        yield binding["scope"] or "", binding["name"], value.strip()


def _without_comment(line: str) -> str:
    quoted = "'" in line or '"' in line
    return line if quoted else line.partition("#")[0]


def _value(text: str, macros: Mapping[str, Value]) -> Value:
    macro = _MACRO.fullmatch(text)
    if macro is not None and macro[1] in macros:
        return macros[macro[1]]
    try:
        return Known(ast.literal_eval(text), "config")
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return Unknown(text[:200], "bound to something that is not a plain value", "config")
