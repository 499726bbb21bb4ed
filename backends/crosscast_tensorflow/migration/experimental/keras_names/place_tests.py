"""When a call of Keras 2 is a place to look at."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.lookup import bindings_of
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.library_calls import (
    calls_of,
    canonical,
    last,
    text_value,
    value_of,
)
from crosscast_tensorflow.migration.experimental.keras.makers import makers_of
from crosscast_tensorflow.migration.experimental.keras.program import (
    argument,
    compiles,
    open_call,
    optimizer_of,
    strategy_of,
)

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

Test = Callable[["Call"], bool]
_SETTERS = ("set_policy", "set_global_policy", "set_dtype_policy")
_MONITORS = {"EarlyStopping": 0, "ReduceLROnPlateau": 0, "ModelCheckpoint": 1}
_MODES = {"EarlyStopping": 4, "ReduceLROnPlateau": 4, "ModelCheckpoint": 5}
_TENSOR = re.compile(r"tensorflow\.|keras\.(backend|ops)\.|keras\.optimizers\.schedules\.")
_OLD_WORDS = ("use_resource", "synchronization", "partitioner", "collections", "aggregation")


def always(_: Call) -> bool:
    """Every call is a place."""
    return True


def without(name: str, place: int) -> Test:
    """Return the test whether an argument is missing."""
    return lambda call: not open_call(call.node) and argument(call.node, place, name) is None


def without_one_of(*arguments: tuple[str, int]) -> Test:
    """Return the test whether any of some arguments is missing."""
    return lambda call: any(without(*each)(call) for each in arguments)


def has_list(name: str, place: int) -> Test:
    """Return the test whether an argument is a list."""
    return lambda call: isinstance(argument(call.node, place, name), ast.List | ast.Tuple)


def _calls(program: Program) -> Iterator[str]:
    for name, call in calls_of(program):
        yield last(name)
        yield call.method


def _program(call: Call) -> Program:
    return call.module.program


def sets_policy(call: Call) -> bool:
    """Whether the program sets a dtype policy."""
    return any(name in _SETTERS for name in _calls(_program(call)))


def scales_replicas(call: Call) -> bool:
    """Whether the program scales losses, and a strategy may have several devices."""
    program = _program(call)
    half = any("float16" in module.source.text for module in program.modules)
    scales = "LossScaleOptimizer" in _calls(program) or (half and sets_policy(call))
    return scales and strategy_of(program) is not None and "OneDevice" not in call.name


def wraps_foreign(call: Call) -> bool:
    """Whether a LossScaleOptimizer is given an optimizer that is not one of Keras."""
    inner = argument(call.node, 0, "inner_optimizer")
    makers = makers_of(inner, call.module) if inner is not None else None
    names = [canonical(name) for maker in makers or () for name in maker.names]
    return any(name.startswith(("tensorflow", "horovod.", "byteps.")) for name in names)


def is_none(name: str, place: int) -> Test:
    """Return the test whether an argument is None."""

    def test(call: Call) -> bool:
        given = argument(call.node, place, name)
        return isinstance(given, ast.Constant) and given.value is None

    return test


def trains_by_hand(call: Call) -> bool:
    """Whether the program has a loop of its own."""
    return "GradientTape" in _calls(_program(call))


def compiles_models(call: Call) -> bool:
    """Whether the program compiles models."""
    return bool(compiles(_program(call)))


def restores(call: Call) -> bool:
    """Whether the program restores checkpoints of objects."""
    return "restore" in _calls(_program(call))


def counts_by_numpy(call: Call) -> bool:
    """Whether the first argument is `np.prod(...)`."""
    first = argument(call.node, 0, "units")
    return isinstance(first, ast.Call) and call.module.call(first).name == "numpy.prod"


def monitors_unknown(call: Call) -> bool:
    """Whether a callback does not say in which direction its quantity should move."""
    name = last(canonical(call.name))
    if open_call(call.node):
        return False
    mode = argument(call.node, _MODES[name], "mode")
    if mode is not None and text_value(value_of(mode, call.module)) != "auto":
        return False
    if name == "ModelCheckpoint":
        best = argument(call.node, 3, "save_best_only")
        value = value_of(best, call.module) if best is not None else Known(False)
        if isinstance(value, Known) and not value.value:
            return False
    given = argument(call.node, _MONITORS[name], "monitor")
    monitor = text_value(value_of(given, call.module)) if given is not None else "val_loss"
    return monitor.removeprefix("val_") not in {"loss", *compiled_metrics(_program(call))}


def compiled_metrics(program: Program) -> Iterator[str]:
    """Yield the names that models are compiled with as metrics."""
    for call in compiles(program):
        metrics = argument(call.node, 2, "metrics")
        for node in ast.walk(metrics) if metrics is not None else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def has_tensor_schedule(call: Call) -> bool:
    """Whether the function of a LearningRateScheduler perhaps returns a tensor."""
    given = argument(call.node, 0, "schedule")
    module, program = call.module, _program(call)
    if isinstance(given, ast.Lambda):
        return _is_tensor(given.body, module)
    for maker in (makers_of(given, module) if given is not None else None) or ():
        for name in maker.names:
            scope = program.class_named(name)
            base = canonical(program.library_base(scope) if scope is not None else name)
            if "optimizers.schedules." in base or base.endswith("LearningRateSchedule"):
                return True
    functions = [program.function_named(n) for n in module.resolve_all(given)] if given else []
    return any(
        isinstance(node, ast.Return) and node.value is not None and _is_tensor(node.value, home)
        for home, function in filter(None, functions)
        for node in ast.walk(function)
    )


def _is_tensor(node: ast.expr, module: Module, depth: int = 0) -> bool:
    """Whether an expression calls a function of TensorFlow, and is not made a number by `float`."""
    match node:
        case ast.Call(func=ast.Name(id="float")) | ast.Call(func=ast.Attribute(attr="numpy")):
            return False
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            if any(_TENSOR.match(canonical(name)) for name in module.call(part).names):
                return True
        elif isinstance(part, ast.Name) and depth < 2:
            values = [binding.assigned for binding in bindings_of(part.id, part, module)]
            if any(v is not None and v is not node and _is_tensor(v, module, depth + 1)
                   for v in values):  # fmt: skip
                return True
    return False


def _is_compiled(call: Call) -> bool:
    return any(call.node is each.node for each in compiles(_program(call)))


def shares_metrics(call: Call) -> bool:
    """Whether several losses are compiled with one list of metrics."""
    loss, metrics = argument(call.node, 1, "loss"), argument(call.node, 2, "metrics")
    several = isinstance(loss, ast.List | ast.Tuple) and len(loss.elts) > 1
    several |= isinstance(loss, ast.Dict) and len(loss.keys) > 1
    if not several or not isinstance(metrics, ast.List | ast.Tuple) or not metrics.elts:
        return False
    nested = any(isinstance(e, ast.List | ast.Tuple | ast.Dict) for e in metrics.elts)
    return not nested and _is_compiled(call)


def compiled_again(call: Call) -> bool:
    """Whether an optimizer was compiled before in the same module."""
    mine = optimizer_of(call)
    if not isinstance(mine, ast.Name | ast.Attribute) or not _is_compiled(call):
        return False
    function = call.module.function_of(call.node)
    return any(
        other.module is call.module
        and other.node.lineno < call.node.lineno
        and other.module.function_of(other.node) is function
        and (their := optimizer_of(other)) is not None
        and call.module.text(their) == call.module.text(mine)
        and not _stored_between(call.module.text(mine), other.node, call)
        for other in compiles(_program(call))
    )


def _stored_between(text: str, first: ast.Call, call: Call) -> bool:
    return any(
        isinstance(node, ast.Name | ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and call.module.text(node) == text
        and first.lineno < node.lineno < call.node.lineno
        for node in call.module.nodes
    )


def applied_again(call: Call) -> bool:
    """Whether an optimizer is applied to other variables somewhere else in the same module."""
    if call.receiver is None or _program(call).function(call) is not None:
        return False
    mine = _variables(call)
    return bool(mine) and any(
        other.method == "apply_gradients"
        and other.receiver_text == call.receiver_text
        and other.node.lineno < call.node.lineno
        and _variables(other) not in ("", mine)
        for other in call.module.calls
    )


def _variables(call: Call) -> str:
    """Return the variables in `apply_gradients(zip(gradients, variables))`, as text."""
    match call.node.args:
        case [ast.Call(func=ast.Name(id="zip"), args=[_, variables])]:
            return call.module.text(variables)
    return ""


def outside_of_layers(call: Call) -> bool:
    """Whether a method is not called on `self`."""
    named = call.receiver_text == "self" or call.receiver_text.startswith("super(")
    return not named and _program(call).function(call) is None


def adds_old_weights(call: Call) -> bool:
    """Whether `self.add_weight` has arguments of Keras 2 in a class of Keras."""
    owner = call.module.class_of(call.node)
    scope = call.module.scopes.get(owner) if owner is not None else None
    if scope is None or call.receiver_text != "self":
        return False
    base = canonical(_program(call).library_base(scope))
    if not base.startswith("keras."):
        return False
    first = call.node.args[0] if call.node.args else None
    words = {keyword.arg for keyword in call.node.keywords} & {*_OLD_WORDS}
    if not base.startswith("keras.metrics."):
        words -= {"aggregation"}
    return bool(words) or (first is not None and not isinstance(first, ast.Tuple | ast.List))
