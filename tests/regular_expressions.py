"""The regular expressions of the product, and texts that are slow for a bad one."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from re import _constants as kinds  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

ROOT = Path(__file__).parents[1]
FOLDERS = ("translator", "backends", "parity")
ANYWHERE = frozenset({"search", "finditer", "findall", "sub", "subn", "split"})
HOW = ANYWHERE | {"match", "fullmatch"}
_CHARACTERS = "a0_.A -/\t\n$({[\"'#\\,:=*+%@;|&<>~!?^}])"
_REPEATS = (kinds.MAX_REPEAT, kinds.MIN_REPEAT, kinds.POSSESSIVE_REPEAT)
_UNITS = (
    "a",
    "0",
    "_",
    ".",
    "/",
    " ",
    "\n",
    "\t",
    "-",
    "$",
    "{",
    "(",
    '"',
    "#",
    "\\",
    "a.",
    "\\\n",
)


@dataclass(frozen=True, slots=True)
class Expression:
    """A regular expression, where it stands, and whether a match may begin anywhere."""

    place: str
    pattern: re.Pattern[str]
    anywhere: bool

    def run(self, text: str) -> None:
        """Use it as the product does."""
        if self.anywhere:
            for _ in self.pattern.finditer(text):
                pass
        else:
            self.pattern.fullmatch(text)
            self.pattern.match(text)


def expressions() -> list[Expression]:
    """Return the expressions that modules compile or use; those made from data are left out."""
    trees = {
        path: ast.parse(path.read_text(encoding="utf-8"))
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
    }
    own = {path: _uses(tree) for path, tree in trees.items()}
    anywhere: dict[str, set[str]] = {}
    for uses in own.values():
        for name, hows in uses.items():
            anywhere.setdefault(name, set()).update(hows)
    found = []
    for path, tree in trees.items():
        names = {
            id(node.value): node.targets[0].id
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }
        for call, how in _calls(tree):
            pattern = _compiled(call, path)
            if pattern is not None:
                name = names.get(id(call), "")
                used = own[path] if name.startswith("_") else anywhere
                hows = used.get(name, {*ANYWHERE}) if how == "compile" else {how}
                place = f"{path.relative_to(ROOT)}:{call.lineno}"
                found.append(Expression(place, pattern, bool(hows & ANYWHERE)))
    return found


def _uses(tree: ast.AST) -> dict[str, set[str]]:
    """Return how names of expressions are used; `search` where they are handed on."""
    found: dict[str, set[str]] = {}
    methods: set[ast.AST] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name) as root, attr=how):
                methods.add(root)
                if how in HOW:
                    found.setdefault(name, set()).add(how)
            case ast.Attribute(
                value=ast.IfExp(body=ast.Name(), orelse=ast.Name()) as choice, attr=how
            ):
                methods |= {choice.body, choice.orelse}
                for each in ast.walk(choice):
                    if isinstance(each, ast.Name) and each in methods:
                        found.setdefault(each.id, set()).add(how)
            case ast.Call(func=ast.Name(id="matching" | "_made"), args=[_, ast.Name(id=name) as n]):
                methods.add(n)
                found.setdefault(name, set()).add("fullmatch")
            case ast.Name(id=name, ctx=ast.Load()) if node not in methods:
                found.setdefault(name, set()).add("search")
    return found


def _calls(tree: ast.AST) -> Iterator[tuple[ast.Call, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=how), args=[_, *_]):
                if how in HOW or how == "compile":
                    yield node, how


def _compiled(call: ast.Call, path: Path) -> re.Pattern[str] | None:
    """Return what a call compiles; None if it depends on the call of a function."""
    parts = path.relative_to(ROOT).with_suffix("").parts[1:]
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    flags: list[ast.expr] = [k.value for k in call.keywords if k.arg == "flags"]
    if isinstance(call.func, ast.Attribute) and call.func.attr == "compile":
        flags += call.args[1:2]
    elif isinstance(call.func, ast.Attribute) and call.func.attr in ("match", "search"):
        flags += call.args[2:3]
    try:
        module = vars(importlib.import_module(name))
        pattern, *given = (
            eval(compile(ast.Expression(each), name, "eval"), dict(module))
            for each in (call.args[0], *flags)
        )
    except (NameError, ImportError, TypeError):
        return None
    return re.compile(pattern, *given) if isinstance(pattern, str) else None


def slow_texts(pattern: re.Pattern[str], length: int) -> set[str]:
    """Return texts that repeat what the repetitions of a pattern take, and end otherwise."""
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    texts: set[tuple[str, str, str]] = set()
    for before, unit in _repetitions(tree, ""):
        texts |= {
            (before, unit, "\0"),
            (before, unit, "!"),
            ("", unit, "\0"),
            ("", before + unit, "!"),
        }
        texts |= {("", before or unit, "\0"), ("", unit + " ", "\0")}
    if texts:
        texts |= {("", unit, "\0") for unit in _UNITS}
    return {before + unit * (length // len(unit)) + after for before, unit, after in texts if unit}


def _repetitions(nodes: Iterable[Any], before: str) -> Iterator[tuple[str, str]]:
    """Yield every long repetition with a text for what comes before it."""
    for kind, value in nodes:
        if kind in _REPEATS:
            if value[1] > 9:
                yield from ((before, unit) for unit in _units(value[2]))
            yield from _repetitions(value[2], before)
        elif kind is kinds.SUBPATTERN:
            yield from _repetitions(value[3], before)
        elif kind is kinds.ATOMIC_GROUP:
            yield from _repetitions(value, before)
        elif kind is kinds.BRANCH:
            for branch in value[1]:
                yield from _repetitions(branch, before)
        elif kind in (kinds.ASSERT, kinds.ASSERT_NOT):
            yield from _repetitions(value[1], before)
        before += _sample([(kind, value)])


def _units(body: Any) -> list[str]:
    if len(body) == 1 and body[0][0] is kinds.IN:
        return _members(body[0][1])[:4]
    return [_sample(body) or "a"]


def _sample(nodes: Iterable[Any]) -> str:
    """Return a short text that a pattern matches, lookarounds left aside."""
    text = ""
    for kind, value in nodes:
        if kind is kinds.LITERAL:
            text += chr(value)
        elif kind is kinds.NOT_LITERAL:
            text += "a" if value != ord("a") else "b"
        elif kind is kinds.ANY:
            text += "a"
        elif kind is kinds.IN:
            text += _members(value)[0]
        elif kind in _REPEATS:
            text += _sample(value[2]) * value[0]
        elif kind is kinds.SUBPATTERN:
            text += _sample(value[3])
        elif kind is kinds.ATOMIC_GROUP:
            text += _sample(value)
        elif kind is kinds.BRANCH:
            text += _sample(value[1][0])
    return text


def _members(items: Any) -> list[str]:
    """Return usual characters that are in a class; at least one of its own."""
    own = [chr(value) for kind, value in items if kind is kinds.LITERAL]
    own += [chr(value[0]) for kind, value in items if kind is kinds.RANGE]
    return [c for c in _CHARACTERS if _is_in(items, c)] or own or ["a"]


def _is_in(items: Any, character: str) -> bool:
    code, found, negated = ord(character), False, False
    for kind, value in items:
        if kind is kinds.NEGATE:
            negated = True
        elif kind is kinds.LITERAL:
            found |= code == value
        elif kind is kinds.RANGE:
            found |= value[0] <= code <= value[1]
        elif kind is kinds.CATEGORY:
            name = str(value).rpartition("_")[2]
            holds = {
                "DIGIT": character.isdigit(),
                "SPACE": character.isspace(),
                "WORD": character.isalnum() or character == "_",
            }[name]
            found |= holds != ("_NOT_" in str(value))
    return found != negated
