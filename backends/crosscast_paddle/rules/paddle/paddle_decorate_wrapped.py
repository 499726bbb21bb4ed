"""CL814: paddle.amp.decorate is given a model that is already wrapped for several devices."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_paddle.answers.amp import decorates
from crosscast_reading.lint.answers.supposed import can_be_met
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.conditions import conditions
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_reading.sources.subject import Subject

_WRAPPER = "paddle.DataParallel"
_HOPS = 6


def check(subject: Subject) -> Iterator[Finding]:
    """Find models that may be the result of DataParallel where level O2 decorates them."""
    for call in decorates(subject.program):
        level = call.argument("level")
        models = call.bound().get("models")
        if models is None or not (isinstance(level, Known) and level.value == "O2"):
            continue
        for wrap in _wrappers(models, call.module):
            if _can_happen(call, wrap):
                yield Finding(
                    span=call.module.span(call.node),
                    message=f"{call.method} raises RuntimeError for the result of "
                    f"{wrap.method}: it must get the model before that is wrapped",
                    hint="decorate the model first, and wrap what decorate returns",
                    related=(wrap.module.span(wrap.node),),
                )
                break


def _wrappers(node: ast.expr, module: Module, hops: int = 0) -> Iterator[Call]:
    """Yield the calls that may have wrapped what an expression is, from where it is made on."""
    if hops > _HOPS:
        return
    if isinstance(node, ast.List | ast.Tuple):
        for element in node.elts:
            yield from _wrappers(element, module, hops + 1)
    if isinstance(node, ast.Call):
        call = module.call(node)
        if any(canonical(name) == _WRAPPER for name in call.names):
            yield call
    made = definitions(node, module) if isinstance(node, ast.Name | ast.Attribute) else ()
    if isinstance(node, ast.Attribute) and len(made) > 1:
        return  # it is not known which of them holds at this point
    for each in made:
        if each.kind == "assign" and each.value is not None and not each.path:
            yield from _wrappers(each.value, each.module, hops + 1)
        elif each.kind == "parameter" and isinstance(each.node, ast.arg):
            for given, where in module.program.arguments_for(each):
                yield from _wrappers(given, where, hops + 1)


def _can_happen(call: Call, wrap: Call) -> bool:
    """Whether the model is decorated in a case in which it was certainly wrapped."""
    if call.module.enclosing(call.node, ast.Try) is not None:
        return False
    around, made = conditions(call.node, call.module), conditions(wrap.node, wrap.module)
    return not made or can_be_met(
        [((test.node, test.module), test.holds) for test in (*made, *around)]
    )


RULE = Rule("CL814", check, hints=("decorate",), needs_training=False)
