"""Policies of Keras that are set when the model is compiled already."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crosscast.pysource.programs.call import Call
    from crosscast.readers.python.precision import Site


def compiled_before(policy: Site) -> list[Call]:
    """Return the calls of `compile` before a policy in its function; none if one follows it."""
    module = policy.module
    function = module.function_of(policy.node)
    line = policy.node.lineno  # type: ignore[attr-defined]
    compiled = [
        call
        for call in module.calls
        if call.method == "compile"
        and call.receiver is not None
        and module.function_of(call.node) is function
    ]
    return compiled if all(call.node.lineno < line for call in compiled) else []


def is_behind_compile(policy: Site) -> bool:
    """Whether `compile` came before, so that it did not wrap the optimizer for loss scaling."""
    return bool(compiled_before(policy))
