"""Reads default values out of an installed package, in the process of that package."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

ABSENT = "<no such argument>"
REQUIRED = "<no default>"
Reader = Callable[[], dict[str, Any]]


def resolve(name: str) -> Any:
    """Return what a dotted name stands for in a script that imports its first part.

    A function hides a module of its name, as in paddle.amp.auto_cast.
    """
    first, *rest = name.split(".")
    found, path = importlib.import_module(first), first
    for part in rest:
        path = f"{path}.{part}"
        has = hasattr(found, part)
        found = getattr(found, part) if has else importlib.import_module(path)
    if inspect.ismodule(found):  # the module was imported later than the function
        found = getattr(found, name.rpartition(".")[2])
    return found


def plain(value: Any) -> Any:
    """Return a default as JSON can hold it; types by their bare name."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if hasattr(value, "item"):  # a number of NumPy
        return value.item()
    return str(value).rpartition(".")[2]


def _maker(kind: Any) -> Any:
    """Return what shows the arguments of a class: a metaclass may hide those of its `__init__`."""
    shown = inspect.signature(kind).parameters.values()
    hidden = all(each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) for each in shown)
    return kind.__init__ if hidden else kind


def of_callable(function: Any, names: list[str]) -> dict[str, Any]:
    """Return the defaults of the named arguments of a function or class."""
    if inspect.isclass(function):
        function = _maker(function)
    parameters = inspect.signature(function).parameters
    found = {}
    for name in names:
        if name not in parameters:
            found[name] = ABSENT
        elif parameters[name].default is inspect.Parameter.empty:
            found[name] = REQUIRED
        else:
            found[name] = plain(parameters[name].default)
    return found


def read(
    wanted: list[dict[str, Any]], forms: dict[str, Reader], fixed: dict[str, Reader]
) -> list[dict[str, Any]]:
    """Answer each question {api, form, arguments, fixed} with {arguments, fixed}.

    Args:
        wanted: The questions.
        forms: How to get the values of `api` + `/` + `form` where the signature is not enough.
        fixed: How to measure what no argument changes, by api.
    """
    answers = []
    for entry in wanted:
        names, key = entry["arguments"], f"{entry['api']}/{entry['form']}"
        if entry["form"]:
            values = forms[key]()
            arguments = {name: plain(values.get(name, ABSENT)) for name in names}
        else:
            arguments = of_callable(resolve(entry["api"]), names)
        facts = fixed[entry["api"]]() if entry["fixed"] else {}
        answers.append({"arguments": arguments, "fixed": facts})
    return answers
