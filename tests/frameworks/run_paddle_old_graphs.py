"""Which of the given functions accept a variable of a graph with names."""

from __future__ import annotations

import os

os.environ["FLAGS_enable_pir_api"] = "0"  # noqa: SIM112

import json
import sys

import paddle


def accepts(function: object, *given: object) -> bool:
    """Whether a function accepts variables."""
    try:
        function(*given)  # type: ignore[operator]
    except Exception as error:
        return not any(words in str(error) for words in ("must be Value", "legacy static mode"))
    return True


paddle.enable_static()
accepting = []
for name in sys.argv[1:]:
    found: object = paddle
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    with paddle.static.program_guard(paddle.static.Program()):
        x = paddle.static.data("x", [4, 6])
        if all(accepts(found, *[x] * count) for count in (1, 2)):
            accepting.append(name)
print(json.dumps(accepting))
