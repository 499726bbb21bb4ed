"""Whether a data set shuffles its rows itself, by the calls that make it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names import classes
from crosscast_reading.pysource.names.containers import chase
from crosscast_reading.pysource.syntax.nodes import identifier

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_WRAPS = frozenset(
    {
        *("enumerate", "zip", "iter", "next", "list", "cycle", "islice", "tqdm", "trange"),
        *("Subset", "ConcatDataset", "random_split", "Prefetcher"),
        "experimental_distribute_dataset",
    }
)
"""What hands on the rows of its first argument in their order."""
SHUFFLES_IN_PLACE = re.compile(r"(numpy|random)\.")
"""Whose `shuffle` changes an array or list, which may be done once."""
_BY_INDEX = re.compile(
    r"^(torch\.utils\.data|paddle\.io)(\.\w+)*\.(TensorDataset|StackDataset|Subset|random_split)$"
    r"|^(torchvision|torchaudio|paddle\.vision)\.datasets\.\w+(\.\w+)*$"
    r"|^datasets\.(load_dataset|load_from_disk|Dataset\.from_\w+)$"
)
"""Data sets of libraries whose rows are asked for by number, which is for the loader to draw."""
_OF_TENSORFLOW = re.compile(
    r"^tensorflow\.data\.(Dataset\.\w+|TFRecordDataset|TextLineDataset|FixedLengthRecordDataset)$"
)


def shuffles(data: ast.expr, module: Module) -> bool:
    """Whether a call of `shuffle` is among those that make a data set."""
    return any(
        isinstance(here, ast.Call)
        and isinstance(here.func, ast.Attribute)
        and here.func.attr == "shuffle"
        and not SHUFFLES_IN_PLACE.match(where.resolve(here.func))
        for here, where in _made_of(data, module)
    )


def begins_in_tensorflow(data: ast.expr, module: Module) -> bool:
    """Whether the call that a data set of TensorFlow begins with is visible."""
    return any(
        isinstance(here, ast.Call) and _OF_TENSORFLOW.match(where.resolve(here.func))
        for here, where in _made_of(data, module)
    )


def is_by_index(data: ast.expr, module: Module) -> bool:
    """Whether rows of a data set are asked for by number: a list, a class with `__getitem__`."""
    return any(_has_numbers(here, where) for here, where in _made_of(data, module))


def _has_numbers(node: ast.expr, module: Module) -> bool:
    match node:
        case ast.List() | ast.Tuple() | ast.ListComp():
            return True
        case ast.Call(func=ast.Name(id="list" | "range" | "tuple")):
            return True
        case ast.Call(keywords=words):
            name = module.resolve(node.func)
            if any(word.arg == "streaming" for word in words):
                return False
            return bool(_BY_INDEX.match(name)) or _is_own(node, module)
    return False


def _is_own(node: ast.Call, module: Module) -> bool:
    """Whether a class of the program has `__getitem__`, or an ancestor of it in the program."""
    class_scope = module.program.class_named(module.call(node).name)
    return class_scope is not None and any(
        isinstance(scope.node, ast.ClassDef)
        and any(
            isinstance(part, ast.FunctionDef) and part.name == "__getitem__"
            for part in scope.node.body
        )
        for scope in classes.lineage(module.program, class_scope)
    )


def _made_of(data: ast.expr, module: Module) -> Iterator[tuple[ast.expr, Module]]:
    """Yield an expression and what it comes from, through methods and what hands rows on."""
    waiting, seen = [(data, module)], set[ast.expr]()
    while waiting:
        for here, where in chase(*waiting.pop()):
            if here in seen:
                continue
            seen.add(here)
            yield here, where
            match here:
                case ast.Call(func=function, args=[inner, *_]) if identifier(function) in _WRAPS:
                    waiting.append((inner, where))
                case ast.Call(func=ast.Attribute(value=inner)) | ast.Subscript(value=inner):
                    waiting.append((inner, where))
                case _:
                    pass
