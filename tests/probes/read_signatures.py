"""Reads parameters of installed packages: `read_signatures.py NAMES`, JSON in and out.

The answer to a name is null where the package has nothing of that name, else its orders of
parameters as {"positional": [...], "keyword": [...], "open": bool}: one, or those of each overload.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
import textwrap
import warnings
from typing import Any

from probes.signatures import resolve

Order = dict[str, Any]


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


def overloads(function: Any) -> list[Order]:
    """Return the orders of all definitions in the function's module, if it takes just anything."""
    own = order(function)
    if own["positional"] or own["keyword"] or not inspect.isfunction(function):
        return [own]
    module = inspect.getmodule(function)
    text = textwrap.dedent(inspect.getsource(module)) if module else ""
    found = [
        {
            "positional": [a.arg for a in (*node.args.posonlyargs, *node.args.args)],
            "keyword": [a.arg for a in node.args.kwonlyargs],
            "open": node.args.vararg is not None or node.args.kwarg is not None,
        }
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef) and node.name == function.__name__
    ]
    return found or [own]


def answer(name: str) -> list[Order] | None:
    """Return the orders of what a name stands for; 1.x names of TensorFlow at `compat.v1`."""
    places = [name]
    if name.startswith("tensorflow.") and not name.startswith("tensorflow.compat."):
        places.append(name.replace("tensorflow.", "tensorflow.compat.v1.", 1))
    for place in places:
        try:
            function = resolve(place)
        except (ImportError, AttributeError):
            continue
        return overloads(function) if callable(function) else None
    return None


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps({name: answer(name) for name in json.loads(sys.argv[1])}))
