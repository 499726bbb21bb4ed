"""Data sets that are a few arrays: `TensorDataset(torch.from_numpy(np.load("x.npy")), ...)`.

The arrays are written as expressions of NumPy. What needs anything but files, literals and
functions of NumPy is left to the user.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast.emit.render import py_literal
from crosscast_migrate.changed_values import changed_in_place, only_source
from crosscast_migrate.copied_code import ForeignError
from crosscast_migrate.models.installed import scripts
from crosscast_reading.pysource.names.containers import chase, definitions, ends_of
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.library_calls import canonical

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_TYPES = {
    "float": "np.float32",
    "float32": "np.float32",
    "long": "np.int64",
    "int64": "np.int64",
    "int": "np.int32",
    "int32": "np.int32",
    "bool": "bool",
}
"""Methods and words to types."""
SIGNS: Mapping[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
}
"""Operators that NumPy and all frameworks have."""
_SAME = frozenset({"to", "cuda", "cpu", "contiguous", "clone", "copy", "numpy"})
_DEEPEST = 12


@dataclass(frozen=True, slots=True)
class Column:
    """One of the arrays of the rows."""

    node: ast.expr
    module: Module
    key: str = ""
    """Its name, where the program gives it one."""


Columns = tuple[Column, ...]


def array_nodes(node: ast.expr, module: Module) -> Columns:
    """Return the arrays of a data set that consists of them; nothing for another data set."""
    classes = {name for script in scripts() for name in script.array_sets}
    source = only_source(node, module)
    if source is None or not isinstance(source[0], ast.Call):
        return ()
    call = source[1].call(source[0])
    given = call.node.args
    if len(given) == 1 and isinstance(given[0], ast.List | ast.Tuple):
        given = given[0].elts
    is_known = not classes.isdisjoint(map(canonical, call.names))
    plain = not call.node.keywords and not any(isinstance(each, ast.Starred) for each in given)
    return tuple(Column(each, call.module) for each in given) if is_known and plain else ()


def columns_of(node: ast.expr, module: Module) -> Columns:
    """Return the arrays in tuples, lists and dictionaries of them, or the one that there is."""
    source = only_source(node, module)
    if source is not None:
        expression, where = source
        match expression:
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return tuple(each for part in parts for each in columns_of(part, where))
            case ast.Dict(keys=keys, values=values):
                named = tuple(
                    Column(value, where, key.value)
                    for key, value in zip(keys, values, strict=True)
                    if isinstance(key, ast.Constant) and isinstance(key.value, str)
                )
                if len(named) == len(values):
                    return named
    return (Column(node, module),)


def array_text(node: ast.expr, module: Module) -> str:
    """Return an array as an expression of NumPy.

    Raises:
        ForeignError: it is made of something else than files and functions of NumPy.
    """
    return _text(node, module, _DEEPEST)


def cast_of(node: ast.Call, module: Module) -> tuple[ast.expr, str] | None:
    """Return the array whose type a call changes, and that type in NumPy; None for other calls."""
    known = scripts()
    typed = {name: own for script in known for name, own in script.typed_arrays.items()}
    name = canonical(module.call(node).name)
    parts = [*node.args, *(keyword.value for keyword in node.keywords)]
    kinds = [kind for part in parts if (kind := _type(part, module))]
    given = [part for part in parts if not _type(part, module)]
    kind = kinds[0] if kinds else typed.get(name, "")
    if any(name in script.arrays for script in known) or name in typed:
        return (given[0], kind) if len(given) == 1 and kind else None
    if isinstance(node.func, ast.Attribute) and node.func.attr == "astype" and kind and not given:
        return node.func.value, kind
    return None


def array_function(name: str, arrays: Sequence[str]) -> str:
    """Return the text of a function that returns arrays."""
    lines = [f"def {name}():", '    """Return the arrays of the rows."""', "    return ("]
    return "\n".join([*lines, *(f"        {array}," for array in arrays), "    )"])


def _text(node: ast.expr, module: Module, depth: int) -> str:
    """Return an expression of NumPy."""

    def inner(part: ast.expr) -> str:
        return _text(part, module, depth - 1)

    if depth:
        match node:
            case ast.Name() | ast.Attribute():
                change = changed_in_place(node, module)
                if change is not None:
                    statement, where = change
                    text = where.text(statement)[:60]
                    raise ForeignError(f"the rows need {text}", where.span(statement))
                origins = [each for each in chase(node, module) if each[0] is not node]
                values = [e for e in origins if not isinstance(e[0], ast.Name | ast.Attribute)]
                ends = ends_of(node, module)
                if len(values) == 1 and not any(
                    isinstance(end, ast.Name | ast.Attribute) for end, _ in ends
                ):
                    return _text(*values[0], depth - 1)
                if not origins:
                    return _text(*_unpacked(node, module), depth - 1)
            case ast.Subscript(value=base, slice=key):
                return f"{inner(base)}[{_key(key, module)}]"
            case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as op):
                return f"({inner(node.left)} {SIGNS[type(op)]} {inner(node.right)})"
            case ast.Call():
                return _call(node, module, depth)
        value = evaluate(node, module)
        if isinstance(value, Known) and isinstance(value.value, int | float | str):
            return py_literal(value.value)
    raise ForeignError(f"the rows need {module.text(node)[:60]}", module.span(node))


def _unpacked(node: ast.expr, module: Module) -> tuple[ast.expr, Module]:
    """Return the part of a tuple that is assigned to a name: `x, y = data["x"], data["y"]`."""
    bindings = definitions(node, module)
    whole = bindings[0].value if len(bindings) == 1 and bindings[0].kind == "assign" else None
    for place in bindings[0].path if whole is not None else ():
        if not isinstance(whole, ast.Tuple) or place >= len(whole.elts):
            break
        whole = whole.elts[place]
    else:
        if whole is not None and whole is not node:
            return whole, bindings[0].module
    shown = whole if whole is not None else node
    raise ForeignError(f"the rows need {module.text(shown)[:60]}", module.span(node))


def _key(node: ast.expr, module: Module) -> str:
    match node:
        case ast.Tuple(elts=parts):
            return ", ".join(_key(part, module) for part in parts)
        case ast.Slice(lower=lower, upper=upper, step=step):
            texts = [_key(part, module) if part is not None else "" for part in (lower, upper)]
            return ":".join([*texts, *([_key(step, module)] if step is not None else [])])
    value = evaluate(node, module)
    if isinstance(value, Known) and isinstance(value.value, int | str | None):
        return py_literal(value.value)
    raise ForeignError(f"the rows need {module.text(node)[:60]}", module.span(node))


def _call(node: ast.Call, module: Module, depth: int) -> str:
    known = scripts()
    arrays = {name: own for script in known for name, own in script.arrays.items()}
    typed = {name: own for script in known for name, own in script.typed_arrays.items()}
    name = canonical(module.call(node).name)
    word = name.rpartition(".")[2]
    given = [_text(part, module, depth - 1) for part in node.args if not _is_type(part, module)]
    named = {k.arg: k.value for k in node.keywords if k.arg not in ("device", "place")}
    kinds = [part for part in (*node.args, *named.values()) if _is_type(part, module)]
    kind = _type(kinds[0], module) if kinds else ""
    others = {k: v for k, v in named.items() if not _is_type(v, module)}
    is_method = isinstance(node.func, ast.Attribute) and not _is_package(node.func.value, module)
    if name.startswith("numpy.") and not name.startswith("numpy.random.") and not is_method:
        words = [f"{k}={_key(v, module)}" for k, v in others.items()]
        words += [f"dtype={kind}"] if kind else []
        return f"np.{name.partition('.')[2]}({', '.join([*given, *words])})"
    if (name in arrays or name in typed) and len(given) == 1 and not others:
        kind = kind or typed.get(name, "")
        return f"np.asarray({given[0]}, {kind})" if kind else given[0]
    if isinstance(node.func, ast.Attribute) and is_method:
        held = _text(node.func.value, module, depth - 1)
        if node.func.attr in _TYPES and not given:
            return f"{held}.astype({_TYPES[node.func.attr]})"
        if node.func.attr in ("astype", "type", "to") and kind:
            return f"{held}.astype({kind})"
        if node.func.attr in _SAME and not kind and not others:
            return held
        if node.func.attr in ("reshape", "view") and not others:
            return f"{held}.reshape({', '.join(given)})"
        if node.func.attr == "unsqueeze" and len(given) == 1:
            return f"np.expand_dims({held}, {given[0]})"
        if node.func.attr == "squeeze" and not others:
            return f"{held}.squeeze({', '.join(given)})"
    raise ForeignError(f"the rows need {word or module.text(node)[:60]}", module.span(node))


def _is_package(node: ast.expr, module: Module) -> bool:
    """Whether an expression is a package, whose functions are no methods of arrays."""
    names = {name for script in scripts() for name in (*script.arrays, *script.loaders)}
    packages = {name.partition(".")[0] for name in names} | {"numpy"}
    is_name = isinstance(node, ast.Name | ast.Attribute)
    return is_name and module.resolve(node).partition(".")[0] in packages


def _is_type(node: ast.expr, module: Module) -> bool:
    return bool(_type(node, module))


def _type(node: ast.expr, module: Module) -> str:
    """Return the name of a type in NumPy: `np.float32` for `torch.float`; empty for no type."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _TYPES.get(node.value, "")
    if isinstance(node, ast.Attribute):
        name = canonical(module.resolve(node))
        return _TYPES.get(name.rpartition(".")[2], "") if "." in name else ""
    return ""
