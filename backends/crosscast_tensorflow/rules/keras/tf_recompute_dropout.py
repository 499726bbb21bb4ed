"""CL705: activations recomputed with another dropout mask."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.library_calls import calls_of, canonical
from crosscast_reading.readers.python.module_words import function_calls
from crosscast_reading.sources.subject import Subject

_REMAT = re.compile(
    r"tensorflow\.recompute_grad|keras\.remat|tensorflow\.contrib\.layers\.recompute_grad"
)
_DROPOUT = ("keras.layers.Dropout", "tensorflow.nn.dropout", "tensorflow.layers.dropout")


def check(subject: Subject) -> Iterator[Finding]:
    """Find recomputed functions with dropout."""
    for module, function, place in _recomputed(subject.program):
        for call in function_calls(function, module):
            if _drops(call):
                yield Finding(
                    span=module.span(call.node),
                    message="the backward pass recomputes this with a different dropout mask, so "
                    "its gradients are wrong",
                    hint="use tf.nn.experimental.stateless_dropout with a seed passed as an "
                    "argument",
                    related=(place[0].span(place[1]),),
                )
                break


def _recomputed(
    program: Program,
) -> Iterator[tuple[Module, ast.AST, tuple[Module, ast.AST]]]:
    for name, call in calls_of(program):
        if _REMAT.fullmatch(name) and call.node.args:
            target = call.module.resolve(call.node.args[0])
            definition = program.function_named(target)
            if definition is not None:
                yield definition[0], definition[1], (call.module, call.node)
    for module in program.modules:
        for function in module.functions.values():
            for node in function.decorator_list:
                if _REMAT.fullmatch(canonical(module.resolve(node))):
                    yield module, function, (module, node)


def _drops(call: Call) -> bool:
    """Whether a call applies dropout: a layer created here or before, or the function."""
    for name in call.names:
        plain = canonical(name).removesuffix(".__call__")
        if plain not in _DROPOUT or (plain == "keras.layers.Dropout" and plain == canonical(name)):
            continue
        maker = next((m.call for m in call.meanings if m.call is not None), None)
        made = call.module.call(maker) if maker is not None else call
        rate = made.argument("rate")
        return not (isinstance(rate, Known) and rate.value in (0, 0.0, None))
    return False


RULE = Rule("CL705", check, hints=("recompute_grad", "remat"))
