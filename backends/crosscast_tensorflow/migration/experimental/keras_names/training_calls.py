"""Callbacks, their logs and the metrics of `compile`, which Keras 3 reads otherwise."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.pysource.names.lookup import bindings_of
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.library_calls import calls_of, canonical, last, value_of
from crosscast_tensorflow.migration.experimental.keras.edits import argument_edits, raw
from crosscast_tensorflow.migration.experimental.keras.loop_optimizer import makers_of
from crosscast_tensorflow.migration.experimental.keras.policies import Outcomes, policy_argument
from crosscast_tensorflow.migration.experimental.keras.program import open_call
from crosscast_tensorflow.migration.experimental.keras_names.receivers import compiled_in

if TYPE_CHECKING:
    from crosscast_reading.edits.edit import Edit
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_SCHEDULER = "keras.callbacks.LearningRateScheduler"
_SCHEDULE = re.compile(r"keras\.optimizers\.schedules\.[A-Z]\w*|keras\.experimental\.\w*Decay\w*")
_TENSOR = re.compile(r"tensorflow\.|keras\.(backend|ops)\.")
MODES = {"EarlyStopping": 4, "ModelCheckpoint": 5, "ReduceLROnPlateau": 4}
"""Callback to the place of its mode."""
_KNOWN = re.compile(r"(val_)?(loss|acc|accuracy|mse|mae|mape|msle|mean_\w+_error)")
"""What Keras 3 knows the direction of, if the program has no function of this name."""
_SETS_RATE = ("LearningRateScheduler", "ReduceLROnPlateau")
_LOGS = re.compile(r"(^|[._])(logs|history|hist)$")
_RATE = 'logs of LearningRateScheduler and ReduceLROnPlateau have the key "learning_rate", not "lr"'
_MODE = "the mode of a callback is what auto meant in Keras 2: the maximum only of accuracies"
_OUTPUTS = "metrics of compile are listed for each output"


def schedules(module: Module, program: Program, out: Outcomes) -> None:
    """Give LearningRateScheduler numbers: Keras 3 takes no tensors."""
    for call in module.calls:
        if canonical(call.name) != _SCHEDULER or module.is_dead(call.node):
            continue
        given = policy_argument(call.node, 0, "schedule")
        if given is None or isinstance(given, ast.Lambda):
            if isinstance(given, ast.Lambda) and _is_tensor(given.body, module):
                out.edits.append(_number(given.body, module))
            continue
        makers = makers_of(given, module) or []
        names = [canonical(name) for maker in makers for name in maker.names or ("",)]
        if names and all(_SCHEDULE.fullmatch(name) or _is_own(name, program) for name in names):
            text = f"lambda epoch: float({raw(module, given)}(epoch))"
            out.edits.append(replace_node(module, given, text))
            continue
        _returns(given, module, program, out)


def _is_own(name: str, program: Program) -> bool:
    """Whether a class of the program is a schedule."""
    scope = program.class_named(name)
    return scope is not None and canonical(program.library_base(scope)).endswith(
        ".LearningRateSchedule"
    )


def _returns(given: ast.expr, module: Module, program: Program, out: Outcomes) -> None:
    """Return numbers from the function that is a schedule of the program."""
    for name in module.resolve_all(given):
        found = program.function_named(name)
        if found is None:
            continue
        home, function = found
        for node in ast.walk(function):
            if not isinstance(node, ast.Return) or node.value is None:
                continue
            if not _is_tensor(node.value, home):
                continue
            if home is module:
                out.edits.append(_number(node.value, home))
            else:
                hint = f"return float({home.text(node.value)})"
                out.refuse(home, node.value, "a schedule of Keras 3 returns a number", hint)


def _number(node: ast.expr, module: Module) -> Edit:
    return replace_node(module, node, f"float({raw(module, node)})")


def _is_tensor(node: ast.expr, module: Module, depth: int = 0) -> bool:
    """Whether an expression is computed by TensorFlow."""
    if depth > 3:
        return False
    match node:
        case ast.Call(func=ast.Attribute(attr="numpy")) | ast.Call(func=ast.Name(id="float")):
            return False
        case ast.Call():
            names = [canonical(name) for name in module.call(node).names]
            return bool(names) and all(_TENSOR.match(name) for name in names)
        case ast.BinOp():
            return any(_is_tensor(part, module, depth) for part in (node.left, node.right))
        case ast.UnaryOp():
            return _is_tensor(node.operand, module, depth)
        case ast.IfExp():
            return any(_is_tensor(part, module, depth) for part in (node.body, node.orelse))
        case ast.Name():
            return any(
                binding.assigned is not None
                and _is_tensor(binding.assigned, binding.module, depth + 1)
                for binding in bindings_of(node.id, node, module)
            )
    return False


def modes(module: Module, program: Program, out: Outcomes) -> None:
    """Write the mode that `auto` of Keras 2 chose where Keras 3 fails or chooses the other one."""
    for call in module.calls:
        name = canonical(call.name).removeprefix("keras.callbacks.")
        if name not in MODES or module.is_dead(call.node) or open_call(call.node):
            continue
        place = MODES[name]
        mode = policy_argument(call.node, place, "mode")
        value = value_of(mode, module) if mode is not None else Known("auto")
        if not isinstance(value, Known) or value.value != "auto":
            continue
        if name == "ModelCheckpoint" and not _only_best(call):
            continue
        given = policy_argument(call.node, 1 if name == "ModelCheckpoint" else 0, "monitor")
        monitor = value_of(given, module) if given is not None else Known("val_loss")
        if not isinstance(monitor, Known) or not isinstance(monitor.value, str):
            continue
        old = _old_mode(monitor.value, name)
        if _same_in_keras_3(monitor.value, old, program):
            continue
        if mode is None:
            out.edits += argument_edits(module, call.node, [], (f'mode="{old}"',))
        else:
            out.edits.append(replace_node(module, mode, f'"{old}"'))
        out.notes.append(_MODE)


def _only_best(call: Call) -> bool:
    best = policy_argument(call.node, 3, "save_best_only")
    value = value_of(best, call.module) if best is not None else Known(False)
    return not (isinstance(value, Known) and not value.value)


def _old_mode(monitor: str, name: str) -> str:
    """Return what `auto` chose in Keras 2."""
    measure = name == "ModelCheckpoint" and monitor.startswith("fmeasure")
    return "max" if "acc" in monitor or measure else "min"


def _same_in_keras_3(monitor: str, old: str, program: Program) -> bool:
    """Whether Keras 3 certainly chooses the same."""
    if monitor in ("loss", "val_loss"):
        return True
    if not _KNOWN.fullmatch(monitor):
        return False
    up = "acc" in monitor
    own = monitor.removeprefix("val_")
    mine = any(
        own in (function.rpartition(".")[2] for function in module.functions)
        for module in program.modules
    )
    return not mine and up == (old == "max")


def logged_rates(module: Module, program: Program, out: Outcomes) -> None:
    """Read the learning rate of logs under its new key."""
    if not any(last(name) in _SETS_RATE for name, _ in calls_of(program)):
        return
    for node in module.every(ast.Constant):
        if node.value != "lr" or module.is_dead(node):
            continue
        parent = module.parent(node)
        owner: ast.expr | None = None
        if isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Load):
            owner = parent.value
        elif isinstance(parent, ast.Call) and module.call(parent).method in ("get", "pop"):
            owner = module.call(parent).receiver
        elif isinstance(parent, ast.Compare) and isinstance(parent.ops[0], ast.In | ast.NotIn):
            owner = parent.comparators[0]
        if owner is not None and _LOGS.search(module.text(owner)):
            out.edits.append(replace_node(module, node, '"learning_rate"'))
            out.notes.append(_RATE)


def output_metrics(module: Module, program: Program, out: Outcomes) -> None:
    """List the metrics of a model with several outputs for each of them."""
    for call in compiled_in(module, program):
        loss = policy_argument(call.node, 1, "loss")
        metrics = policy_argument(call.node, 2, "metrics")
        if metrics is None or module.is_dead(call.node):
            continue
        size = _size(loss, module)
        if size < 2 or not isinstance(metrics, ast.List | ast.Tuple) or not metrics.elts:
            continue
        if any(isinstance(node, ast.List | ast.Tuple | ast.Dict) for node in metrics.elts):
            continue
        by_name = isinstance(next(_assigned(loss, module), None), ast.Dict)
        if by_name or not all(_is_plain(node, module) for node in metrics.elts):
            out.refuse(
                module,
                metrics,
                "the metrics of a list belong to one output each in Keras 3 (Keras 2: all of them "
                "to every output)",
                "write a dictionary with the metrics of each output"
                if by_name
                else "write a list of metrics for each output",
            )
            continue
        text = ", ".join(raw(module, node) for node in metrics.elts)
        out.edits.append(
            replace_node(module, metrics, f"[{', '.join(f'[{text}]' for _ in range(size))}]")
        )
        out.notes.append(_OUTPUTS)


def _size(loss: ast.expr | None, module: Module) -> int:
    """Return how many losses are listed; 0 if that is not certain."""
    for node in _assigned(loss, module):
        if isinstance(node, ast.List | ast.Tuple):
            return 0 if any(isinstance(e, ast.Starred) for e in node.elts) else len(node.elts)
        if isinstance(node, ast.Dict):
            return len(node.keys) if all(node.keys) else 0
    return 0


def _assigned(node: ast.expr | None, module: Module) -> Iterator[ast.expr]:
    if isinstance(node, ast.Name):
        found = [binding.assigned for binding in bindings_of(node.id, node, module)]
        if len(found) == 1 and found[0] is not None:
            yield found[0]
    elif node is not None:
        yield node


def _is_plain(node: ast.expr, module: Module) -> bool:
    """Whether a metric is a name or a function, which several outputs can share."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    return isinstance(node, ast.Name | ast.Attribute) and not makers_of(node, module)
