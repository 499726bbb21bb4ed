"""What a call names: a function or class of Paddle, or a method of a tensor."""

from __future__ import annotations

from collections.abc import Container

from crosscast_reading.pysource.programs.call import Call


def called(call: Call, known: Container[str]) -> str:
    """Return which of the known names a call has; empty if it is none, or has several meanings.

    `super().__init__(...)` names the class. A method of a result of Paddle, or of what is not known
    in a file that imports paddle, is one of tensors (`paddle.Tensor.uniform_`).
    """
    if len(call.names) > 1:
        return ""
    name = call.name.removesuffix(".__init__")
    if name in known:
        return name
    roots = {imported.partition(".")[0] for imported in call.module.imports.values()}
    method = f"paddle.Tensor.{call.method}"
    may_be = name.startswith("paddle.") or (not name and "paddle" in roots)
    return method if may_be and call.receiver is not None and method in known else ""
