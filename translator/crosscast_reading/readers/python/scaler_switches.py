"""Loss scalers that are off where bfloat16 is the type: `enabled=dtype == "float16"`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.libraries.packages import is_of_framework
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.syntax.truth import is_combination, is_met, of_combination
from crosscast_reading.pysource.values.value import Known, Symbol
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.conditions import Condition, conditions_of
from crosscast_reading.readers.python.decisions import PRECISION, decide, is_about
from crosscast_reading.readers.python.precision import types_in

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module

_HOPS = 3


def tell_idle_scalers(
    scalers: Iterable[tuple[Call, ast.expr | None]], reader: str
) -> Iterable[Fact]:
    """Yield that no scaler of a program is on with bfloat16, if that is so.

    Args:
        scalers: the calls that create them, each with what the switch of the call gets.
        reader: name of the reader.
    """
    calls = list(scalers)
    if calls and all(_is_idle(conditions_of(call), switch, call.module) for call, switch in calls):
        places = [call.module.span(call.node) for call, _ in calls]
        yield fact_of("loss_scaling.with_bfloat16", Known("no"), *places, reader=reader)


def _is_idle(conditions: Sequence[Condition], switch: ast.expr | None, module: Module) -> bool:
    """Whether a scaler is off with bfloat16, or with the defaults of flags."""
    tests = list(conditions)
    if switch is not None:
        tests.append(Condition(switch, True, module.owner_of(switch)))
    if any(is_met(_with_bfloat16(t.node, t.module, 0), t.holds) is False for t in tests):
        return True
    return decide(conditions, switch, module).by_default is False


def _with_bfloat16(node: ast.expr, module: Module, hops: int) -> bool | None:
    """Return the value of a condition where the type that it asks for is bfloat16."""
    if is_combination(node):
        return of_combination(node, lambda part: _with_bfloat16(part, module, hops))
    if isinstance(node, ast.Name) and hops < _HOPS:
        values = [b.value for b in definitions(node, module) if b.kind == "assign"]
        value = values[0] if len(values) == 1 else None
        return _with_bfloat16(value, module, hops + 1) if value is not None else None
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return None
    left, how, right = node.left, node.ops[0], node.comparators[0]
    named, asked = _names(right, module), left
    if not named:
        named, asked = _names(left, module), right
    if not named or not is_about(Condition(asked, True, module), PRECISION):
        return None
    if isinstance(how, ast.Eq | ast.Is | ast.In):
        return "bfloat16" in named
    return "bfloat16" not in named if isinstance(how, ast.NotEq | ast.IsNot | ast.NotIn) else None


def _names(node: ast.expr, module: Module) -> frozenset[str]:
    """Return the types that constants name: `"fp16"`, `torch.float16`, a list of those."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return frozenset(word for item in node.elts for word in _names(item, module))
    if isinstance(node, ast.Constant):
        return frozenset(types_in(Known(node.value)))
    name = module.resolve(node) if isinstance(node, ast.Attribute) else ""
    return frozenset(types_in(Symbol(name))) if is_of_framework(name) else frozenset()
