"""What expressions are worth if settings have certain values: `args.dtype` is "bfloat16".

And whether some values of the settings meet several conditions together.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import cast

from crosscast_reading.pysource.libraries.packages import is_of_framework
from crosscast_reading.pysource.machine.evaluator import Evaluator
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.pysource.syntax.truth import is_combination
from crosscast_reading.pysource.values import arithmetic

UNSURE = object()
"""A value that does not follow from what is supposed."""
MADE = object()
"""An object that was made: true, and not None."""
Part = tuple[ast.expr, Module]
"""An expression and where it stands."""
Wanted = tuple[Part, bool]
"""A condition and whether it must be met."""

_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_HOPS = 8
_MOST = 256
"""Most cases that are tried."""


def worth(part: Part, supposed: Mapping[str, object]) -> object:
    """Return the value of an expression, a name of a library as text, or `UNSURE`.

    Args:
        part: the expression.
        supposed: settings as the source writes them, without `self.`, and their values.
    """
    node, module = part
    return _SUPPOSED.value(node, _World(module, supposed))


def truth(part: Part, supposed: Mapping[str, object]) -> bool | None:
    """Return whether a condition is met; None if that does not follow from what is supposed."""
    node, module = part
    return _SUPPOSED.truth(node, _World(module, supposed))


@dataclass(frozen=True, slots=True)
class _World:
    """Where an expression stands, and what is supposed there."""

    module: Module
    supposed: Mapping[str, object]
    hops: int = _HOPS
    """Most names to follow."""

    def behind(self, node: ast.expr) -> tuple[ast.expr, _World] | None:
        """Return the definition of a name, and its place."""
        made = _made(node, self.module) if self.hops else None
        return made and (made[0], _World(made[1], self.supposed, self.hops - 1))


class _Supposed(Evaluator[_World]):
    """The domain of values that follow from suppositions.

    A supposed value may stand for others, True for every number but 0: it is not computed with,
    and whether it equals a number is unsure.
    """

    def value(self, node: ast.expr, place: _World) -> object:
        text = _name_of(node)
        return place.supposed[text] if text in place.supposed else super().value(node, place)

    def truth(self, node: ast.expr, place: _World) -> bool | None:
        if _name_of(node) in place.supposed:
            return bool(place.supposed[_name_of(node)])
        made = place.behind(node) if isinstance(node, ast.Name | ast.Attribute) else None
        return super().truth(node, place) if made is None else self.truth(*made)

    def unknown(self, node: ast.AST, place: _World, reason: str = "") -> object:
        return UNSURE

    def truth_of(self, value: object) -> bool | None:
        return None if value is UNSURE else bool(value)

    def applied(
        self,
        node: ast.AST,
        values: Sequence[object],
        compute: Callable[..., object],
        place: _World,
    ) -> object:
        return UNSURE

    def compared(
        self, node: ast.Compare, op: ast.cmpop, left: object, right: object, place: _World
    ) -> object:
        if UNSURE in (left, right) or (MADE in (left, right) and None not in (left, right)):
            return UNSURE
        match op, right:
            case ast.In() | ast.NotIn(), list() | tuple() | set() | dict():
                answers = [_are_equal(left, each) for each in right]
                if True in answers:
                    return isinstance(op, ast.In)
                return UNSURE if None in answers else isinstance(op, ast.NotIn)
            case (ast.Eq() | ast.NotEq() | ast.Is() | ast.IsNot(), _):
                if any(isinstance(side, list | tuple | set | dict) for side in (left, right)):
                    return UNSURE
                if isinstance(op, ast.Eq | ast.NotEq) and _are_equal(left, right) is None:
                    return UNSURE
                return arithmetic.compare(type(op), left, right)
        return UNSURE

    def name(self, node: ast.Name, place: _World) -> object:
        return "__main__" if node.id == "__name__" else self.attribute(node, place)

    def attribute(self, node: ast.Name | ast.Attribute, place: _World) -> object:
        made = place.behind(node)
        if made is not None:
            return self.value(*made)
        name = place.module.resolve(node)
        return name if is_of_framework(name) else UNSURE

    def subscript(self, node: ast.Subscript, place: _World) -> object:
        key = self.value(node.slice, place)
        for each, value in _table(node.value, place.module) if key is not UNSURE else ():
            is_entry = _are_equal(self.value(each, place), key)
            if is_entry is not False:
                return self.value(value, place) if is_entry else UNSURE
        return UNSURE

    def call(self, node: ast.Call, place: _World) -> object:
        match node:
            case ast.Call(func=ast.Name(id="bool"), args=[inner]):
                answer = self.truth(inner, place)
                return UNSURE if answer is None else answer
            case ast.Call(func=ast.Name(id="getattr"), args=[_, name]):
                return self.value(name, place)
        made = place.module.call(node).name.rpartition(".")[2]
        return MADE if made[:1].isupper() else UNSURE


_SUPPOSED = _Supposed()


def _are_equal(left: object, right: object) -> bool | None:
    """Whether two values are equal; None if one is unsure, or may stand for the other number."""
    if UNSURE in (left, right):
        return None
    numbers = isinstance(left, int | float) and isinstance(right, int | float)
    if numbers and isinstance(left, bool) is not isinstance(right, bool):
        return None if bool(left) is bool(right) else False
    return bool(left == right)


def can_be_met(wanted: Sequence[Wanted]) -> bool:
    """Whether some case of settings that nothing assigns surely meets all conditions.

    A comparison of numbers is met in some case, if no other condition asks for its settings.
    """
    parts = [part for part, _ in wanted]
    atoms = {ast.unparse(node): (node, module) for node, module in _atoms_of(parts)}
    if not all(map(_is_plain, atoms.values())):
        return False
    free = [text for text, atom in atoms.items() if _is_open(atom)]
    asked = {text: {*settings_in([atom])} for text, atom in atoms.items()}
    if any(asked[text] & asked[other] for text in free for other in atoms if other != text):
        return False
    decided = [atom for text, atom in atoms.items() if text not in free]
    names = settings_in(decided)
    compared = [
        (node, module)
        for module in dict.fromkeys(module for _, module in parts)
        for node in module.every(ast.Compare)
        if _name_of(node.left) in names
    ]
    possible = cases(decided, {}, free=free, compared=compared)
    return any(all(truth(part, c) is holds for part, holds in wanted) for c in possible)


def _is_open(part: Part) -> bool:
    """Whether no case of its settings decides a condition."""
    return all(truth(part, case) is None for case in cases([part], {}))


def _atoms_of(parts: Iterable[Part]) -> Iterator[Part]:
    """Yield the conditions that others are made of by `and`, `or` and `not`."""
    for node, module in parts:
        if is_combination(node):
            inner = node.values if isinstance(node, ast.BoolOp) else [node.operand]
            yield from _atoms_of((each, module) for each in inner)
        else:
            yield node, module


def _is_plain(part: Part) -> bool:
    """Whether a condition asks settings that nothing assigns and counters of loops alone.

    Another variable may be true only where one of the other conditions is met.
    """
    for node, module in _followed(part):
        match node:
            case ast.Attribute(value=ast.Name(), attr=word) if not _is_assigned(word, module):
                pass
            case ast.Attribute() | ast.Call():
                return False
            case ast.Name() if node.id != "__name__" and _made(node, module) is None:
                if not _is_counter(node, module):
                    return False
    return True


def comes_round(part: Part) -> bool:
    """Whether a condition is met in some rounds of a loop, whatever the settings are."""
    return _is_plain(part) and all(
        any(_is_counter(each, module) for each in ast.walk(node))
        for node, module in _atoms_of([part])
    )


def _is_counter(node: ast.AST, module: Module) -> bool:
    """Whether a node is the variable of a loop."""
    bindings = definitions(node, module) if isinstance(node, ast.Name) else ()
    return bool(bindings) and all(binding.kind == "loop" for binding in bindings)


def _is_assigned(word: str, module: Module) -> bool:
    return any(
        each.attr == word and isinstance(each.ctx, ast.Store)
        for where in module.program.modules
        for each in where.every(ast.Attribute)
    )


def settings_in(parts: Sequence[Part]) -> list[str]:
    """Return the settings that expressions depend on, in order, followed through names."""
    return list(dict.fromkeys(name for part in parts for name in _settings(part, _HOPS)))


def cases(
    parts: Sequence[Part],
    fixed: Mapping[str, object],
    *,
    free: Sequence[str] = (),
    compared: Sequence[Part] | None = None,
) -> Iterator[Mapping[str, object]]:
    """Yield the cases of the settings that conditions depend on: on, off, or what they may equal.

    Nothing is yielded where there are too many.

    Args:
        parts: the conditions.
        fixed: settings whose values are the same in all cases.
        free: what else is true or false, whatever the settings are.
        compared: further comparisons with texts, one of which each setting is then that is
            compared with any; without them, a setting may be something else.
    """
    names = [*free, *(name for name in settings_in(parts) if name not in fixed)]
    values: list[list[object]] = []
    for name in names:
        texts = texts_for(name, [*parts, *(compared or ())])
        is_text = bool(texts) and compared is not None
        values.append([*([] if is_text else (True, False)), *texts, *_numbers_for(name, parts)])
    if prod(map(len, values)) <= _MOST:
        for chosen in product(*values):
            yield {**fixed, **dict(zip(names, chosen, strict=True))}


def texts_for(name: str, parts: Sequence[Part]) -> list[str]:
    """Return the texts that expressions compare a setting with, or look it up by."""
    constants = _compared_with(name, parts)
    return list(dict.fromkeys(each for each in constants if isinstance(each, str)))


def _numbers_for(name: str, parts: Sequence[Part]) -> list[object]:
    """Return the numbers that a setting may equal by the expressions."""
    constants = _compared_with(name, parts)
    return list(dict.fromkeys(each for each in constants if type(each) in (int, float)))


def _compared_with(name: str, parts: Sequence[Part]) -> Iterator[object]:
    for node, module in (inner for part in parts for inner in _followed(part)):
        match node:
            case ast.Compare(left=left, ops=ops, comparators=others) if _name_of(left) == name:
                if not any(isinstance(op, _ORDERS) for op in ops):
                    yield from _constants(others)
            case ast.Subscript(value=table, slice=key) if _name_of(key) == name:
                yield from _constants(each for each, _ in _table(table, module))


def _name_of(node: ast.expr) -> str:
    match node:
        case (
            ast.Name()
            | ast.Attribute()
            | ast.Subscript(slice=ast.Constant())
            | ast.Compare()
            | ast.BinOp()
        ):
            return ast.unparse(node).removeprefix("self.")
        case ast.Call(func=ast.Name(id="getattr"), args=[home, ast.Constant(value=str(name)), *_]):
            return f"{ast.unparse(home)}.{name}".removeprefix("self.")
    return ""


def _settings(part: Part, hops: int) -> Iterator[str]:
    """Yield the names that are neither defined in the program nor names of a library."""
    node, module = part
    match node:
        case ast.Name(id="__name__"):
            return
        case ast.Name() | ast.Attribute() | ast.Subscript(slice=ast.Constant()):
            made = _made(node, module) if hops else None
            if made is not None:
                yield from _settings(made, hops - 1)
            elif not is_of_framework(module.resolve(node)):
                yield _name_of(node)
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(), *_]):
            yield _name_of(node)
        case ast.Call(func=ast.Name(id="bool" | "getattr"), args=[*_, inner]):
            yield from _settings((inner, module), hops)
        case ast.Call():
            return
        case _:
            for each in ast.iter_child_nodes(node):
                if isinstance(each, ast.expr):
                    yield from _settings((each, module), hops)


def _followed(part: Part) -> Iterator[Part]:
    """Yield an expression, its parts, and those of what its names are defined as, each once.

    Nothing is yielded for `args` of `args.dtype`.
    """
    waiting, seen = [part], {part[0]}
    while waiting:
        node, module = waiting.pop()
        owners = {each.value for each in ast.walk(node) if isinstance(each, ast.Attribute)}
        for inner in ast.walk(node):
            if not isinstance(inner, ast.expr) or (inner in owners and isinstance(inner, ast.Name)):
                continue
            yield inner, module
            made = _made(inner, module) if isinstance(inner, ast.Name | ast.Attribute) else None
            if made is not None and made[0] not in seen:
                seen.add(made[0])
                waiting.append(made)


def _made(node: ast.expr, module: Module) -> Part | None:
    """Return the only expression that a name stands for, or the only one given for a parameter."""
    match definitions(node, module):
        case [Binding(kind="parameter", node=ast.arg()) as parameter]:
            given = module.program.arguments_for(parameter)
            return given[0] if len(given) == 1 else None
        case [Binding(assigned=ast.expr() as value, module=where)]:
            return value, where
    return None


def _table(node: ast.expr, module: Module) -> list[tuple[ast.expr, ast.expr]]:
    made = _made(node, module) if isinstance(node, ast.Name | ast.Attribute) else (node, module)
    match made:
        case ast.Dict(keys=keys, values=values), _:
            known = cast("list[ast.expr]", keys)  # nothing equals the None of `**`
            return list(zip(known, values, strict=True))
    return []


def _constants(nodes: Iterable[ast.expr]) -> Iterator[object]:
    for node in nodes:
        elements = node.elts if isinstance(node, ast.List | ast.Tuple | ast.Set) else [node]
        yield from (each.value for each in elements if isinstance(each, ast.Constant))
