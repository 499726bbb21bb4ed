"""CL715: the softmax or the logits at the end of a model in float16."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.names.containers import chase
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.syntax.nodes import keyword
from crosscast_reading.pysource.values.value import Instance
from crosscast_reading.readers.python.library_calls import (
    calls_of,
    canonical,
    fixed,
    text_value,
    value_of,
)
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.answers.keras import framework_code, half_policies

_HINT = 'set dtype="float32" for the last layer'
_LAYER = re.compile(r"keras\.layers\.(Dense|Activation|Softmax)")


def check(subject: Subject) -> Iterator[Finding]:
    """Find softmax layers in files without float32 layers, and last layers that give logits."""
    program = subject.program
    policies = half_policies(program)
    if not policies:
        return
    place = policies[0].module.span(policies[0].node)
    softmax = next(_softmax_layers(program), None)
    if softmax is not None:
        yield Finding(
            span=softmax.module.span(softmax.node),
            message="the softmax is computed in float16: probabilities below 6e-8 become zero "
            "and large logits lose precision",
            hint=_HINT,
            related=(place,),
        )
    for layer in _logit_layers(program):
        yield Finding(
            span=layer.module.span(layer.node),
            message="the logits are rounded to float16, and infinite above 65504, before the loss "
            "is computed in float32",
            hint=_HINT,
            related=(place,),
            severity=Severity.WARNING,
        )


def _softmax_layers(program: Program) -> Iterator[Call]:
    """Yield the softmax layers without a type of their own, if no code names float32."""
    if any("float32" in code for code in framework_code(program)):
        return
    for name, call in calls_of(program):
        if _LAYER.fullmatch(name) and not _is_typed(call) and _is_softmax(name, call):
            yield call


def _logit_layers(program: Program) -> Iterator[Call]:
    """Yield the last layers of models whose compiled loss takes logits."""
    seen: set[ast.AST] = set()
    for module in program.modules:
        for call in module.calls:
            if call.method != "compile" or call.receiver is None or not _takes_logits(call):
                continue
            for layer in _last_layers(call.receiver, module):
                plain = layer.bound().get("activation") is None and len(layer.node.args) < 2
                named = canonical(layer.name) == "keras.layers.Dense"
                if named and plain and not _is_typed(layer) and layer.node not in seen:
                    seen.add(layer.node)
                    yield layer


def _takes_logits(call: Call) -> bool:
    match value_of(keyword(call.node, "loss"), call.module):
        case Instance(call=Call() as loss):
            return fixed(loss.argument("from_logits")) is True
    return False


def _last_layers(model: ast.expr, module: Module) -> Iterator[Call]:
    """Yield the last layer of `Sequential([...])` and of `Model(inputs, outputs)`."""
    for made, where in chase(model, module):
        if not isinstance(made, ast.Call):
            continue
        match canonical(where.call(made).name), made.args:
            case "keras.Sequential" | "keras.models.Sequential", [ast.List(elts=[*_, last])]:
                if isinstance(last, ast.Call) and not _has_more(model, module):
                    yield where.call(last)
            case "keras.Model" | "keras.models.Model", [_, outputs]:
                for output, home in chase(outputs, where):
                    match output:
                        case ast.Call(func=ast.Call() as last):
                            yield home.call(last)


def _has_more(model: ast.expr, module: Module) -> bool:
    """Whether layers are added to a model later."""
    text = module.text(model)
    return any(call.method == "add" and call.receiver_text == text for call in module.calls)


def _is_typed(call: Call) -> bool:
    return "dtype" in call.bound() or call.has_star


def _is_softmax(name: str, call: Call) -> bool:
    if name.endswith("Softmax"):
        return True
    given = call.argument("activation")
    if given is None and call.node.args:
        place = 0 if name.endswith("Activation") else 1
        if len(call.node.args) > place:
            given = value_of(call.node.args[place], call.module)
    return text_value(given) == "softmax"


RULE = Rule("CL715", check, hints=("mixed_float16",))
