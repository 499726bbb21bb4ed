"""Prints the signatures of names of installed packages; run in the release that is observed.

Reads {"names": [...], "modules": [...]} from standard input. A module stands for all public
functions and classes that it has. Prints dotted name to parameters; names that are not there are
missing.
"""

from __future__ import annotations

import importlib
import inspect
import json
import sys
import warnings
from collections.abc import Iterator
from typing import Any

from probes.signatures import resolve


def text_of(parameter: inspect.Parameter) -> str:
    """Return a parameter as it is written in a definition."""
    several, named = parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD
    stars = "*" if parameter.kind == several else "**" if parameter.kind == named else ""
    name = f"{stars}{parameter.name}"
    if parameter.default is parameter.empty:
        return name
    return f"{name}={default_text(parameter.default)}"


def default_text(value: Any) -> str:
    """Return a default value without what differs from process to process."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if isinstance(value, (tuple, list)):
        items = ", ".join(default_text(item) for item in value)
        return f"({items})" if isinstance(value, tuple) else f"[{items}]"
    return getattr(value, "__qualname__", "") or f"<{type(value).__name__}>"


def signature(found: Any) -> str | None:
    """Return the parameters of a function or class; None if they cannot be told."""
    function = found
    if inspect.isclass(found) and found.__init__ is not object.__init__:
        function = found.__init__
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    if parameters and parameters[0].name == "self":
        parameters = parameters[1:]
    parts: list[str] = []
    for parameter in parameters:
        starred = any(part.startswith("*") for part in parts)
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
        parts.append(text_of(parameter))
    return ", ".join(parts)


def public(module: str) -> Iterator[str]:
    """Yield the public functions and classes of a module."""
    try:
        found = importlib.import_module(module)
    except ImportError:
        return
    names = getattr(found, "__all__", None) or dir(found)
    package = module.partition(".")[0]
    for name in sorted({*names}):
        value = getattr(found, name, None)
        home = (getattr(value, "__module__", None) or "").partition(".")[0]
        if not name.startswith("_") and callable(value) and home == package:
            yield f"{module}.{name}"


def main() -> None:
    """Read the names, print their signatures."""
    warnings.simplefilter("ignore")
    wanted = json.load(sys.stdin)
    names = {*wanted["names"], *(name for module in wanted["modules"] for name in public(module))}
    found = {}
    for name in sorted(names):
        try:
            value = resolve(name)
        except (ImportError, AttributeError):
            continue
        text = signature(value) if callable(value) else None
        if text is not None:
            found[name] = text
    print(json.dumps(found))


if __name__ == "__main__":
    main()
