"""Prints the positional parameters and defaults of functions of Paddle, as JSON."""

from __future__ import annotations

import inspect
import json
import sys
from functools import reduce

import paddle


def main(names: list[str]) -> None:
    """Print name to its positional parameters with the texts of their defaults."""
    found: dict[str, list[list[str]]] = {}
    for name in names:
        function = reduce(getattr, name.split(".")[1:], paddle)
        method = isinstance(function, type) or ".Tensor." in name
        if isinstance(function, type):
            function = function.__dict__["__init__"]
        parameters = list(inspect.signature(function).parameters.values())[method:]
        found[name] = [
            [parameter.name, repr(parameter.default)]
            for parameter in parameters
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        ]
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
