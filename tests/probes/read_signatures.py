"""Reads parameters of installed packages: `read_signatures.py NAMES`, JSON in and out.

The answer to a name is null where the package has nothing of that name, else its orders of
parameters as {"positional": [...], "keyword": [...], "open": bool}: one, or those of each overload.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import sys
import warnings
from typing import Any

from probes.signatures import resolve

Order = dict[str, Any]

OVERLOADED = {"paddle.static.amp.decorate": "paddle.static.amp.decorator"}
"""Functions that are told apart by what they are called with, and the module that has them all."""


def order(function: Any) -> Order:
    """Return the parameters of a function, or of the constructor of a class, without `self`."""
    if inspect.isclass(function) and function.__init__ is not object.__init__:
        # Not the class: where both `__new__` and `__init__` are there, the first one hides names.
        found = list(inspect.signature(function.__init__).parameters.values())[1:]
    else:
        found = list(inspect.signature(function).parameters.values())
        found = found[1:] if found and found[0].name == "self" else found
    return {
        "positional": [p.name for p in found if p.kind <= p.POSITIONAL_OR_KEYWORD],
        "keyword": [p.name for p in found if p.kind == p.KEYWORD_ONLY],
        "open": any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in found),
    }


def overloads(module: str, name: str) -> list[Order]:
    """Return the orders of all functions of a name in the source of a module."""
    text = inspect.getsource(importlib.import_module(module))
    return [
        {
            "positional": [a.arg for a in (*node.args.posonlyargs, *node.args.args)],
            "keyword": [a.arg for a in node.args.kwonlyargs],
            "open": node.args.vararg is not None or node.args.kwarg is not None,
        }
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef) and node.name == name
    ]


def answer(name: str) -> list[Order] | None:
    """Return the orders of what a name stands for; 1.x names of TensorFlow at `compat.v1`."""
    if name in OVERLOADED:
        return overloads(OVERLOADED[name], name.rpartition(".")[2])
    places = [name]
    if name.startswith("tensorflow.") and not name.startswith("tensorflow.compat."):
        places.append(name.replace("tensorflow.", "tensorflow.compat.v1.", 1))
    for place in places:
        try:
            found = order(resolve(place))
        except (ImportError, AttributeError):
            continue
        # What takes anything, and names nothing, hands it on or is a stub that only raises.
        return [found] if found["positional"] or found["keyword"] else None
    return None


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps({name: answer(name) for name in json.loads(sys.argv[1])}))
