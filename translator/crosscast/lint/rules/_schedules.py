"""Learning rate schedules and their lengths."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from crosscast.lint.rules._loop import made_by, receiver
from crosscast.lint.rules._windows import ACCUMULATES
from crosscast.pysource.names.containers import assigned_paths
from crosscast.pysource.programs.call import Call
from crosscast.pysource.programs.module import Module
from crosscast.pysource.programs.program import Program
from crosscast.pysource.syntax.nodes import walk
from crosscast.trainstep.events import Event

_LENGTHS = ("num_training_steps", "total_steps", "T_max", "total_iters", "max_iters", "t_total")
_MAKERS = re.compile(
    r"get_\w*schedule(r|_with_\w+)?$|OneCycleLR$|CosineAnnealingLR$|LinearLR$|PolynomialLR$"
)
_PADDLENLP = ("LinearDecayWithWarmup", "CosineDecayWithWarmup", "PolyDecayWithWarmup")
_TAKES_RATE = re.compile(r"paddle\.optimizer\.(?!lr\.)[A-Z]\w+")
_OF_PADDLE = re.compile(r"^(paddle\.optimizer\.lr\.|paddlenlp\.|ppdiffusers\.)")
_CONVERTS = re.compile(r"per_epoch|batch_?size", re.I)
_DEPTH = 6


def is_schedule(event: Event) -> bool:
    """Whether it is a library's schedule with the interface of PyTorch."""
    node = event.node
    if "by_hand" in event.detail or not isinstance(node, ast.Call):
        return False
    expression = receiver(event)
    if expression is None or not isinstance(node.func, ast.Attribute) or node.func.attr != "step":
        return False
    if "sched" not in event.subject.lower() and "lr" not in event.subject.lower():
        return False
    names = made_by(event, expression)
    program = event.module.program
    for name in names:
        if name.startswith(("paddle", "tensorflow")):
            return False
        if ":" in name and program is not None:
            scope = program.class_named(name)
            if scope is None or "lr_scheduler" not in program.library_base(scope):
                return False
    return not event.module.source.text.count("import paddle")


def is_paddle_schedule(event: Event) -> bool:
    """Whether it is a schedule of Paddle or its libraries, which every call advances by one.

    The variable may have the rate of a flag where there is no schedule.
    """
    expression, node = receiver(event), event.node
    if expression is None or not isinstance(node, ast.Call) or node.args or node.keywords:
        return False
    called = node.func
    if not isinstance(called, ast.Attribute) or called.attr != "step":
        return False
    names = [name for name in made_by(event, expression) if not name.startswith("argparse.")]
    if names and all(_OF_PADDLE.match(name) for name in names):
        return True
    return bool(names) and _is_rate_of_optimizer(expression, names, event.module)


def _is_rate_of_optimizer(expression: ast.expr, made: Sequence[str], module: Module) -> bool:
    """Whether an optimizer of Paddle has it as its rate, which is a number or a schedule.

    The class may be one of a file that was not given, but none that has its own way to advance.
    """
    program = module.program
    scopes = [program.class_named(name) for name in made] if program is not None else []
    if program is None or any(s is not None and program.has_attribute(s, "step") for s in scopes):
        return False
    text, place = module.text(expression), module.function_of(expression)
    for call in module.calls:
        takes = any(_TAKES_RATE.fullmatch(name) for name in call.names)
        rate = call.bound().get("learning_rate") if takes else None
        here = isinstance(rate, ast.Attribute) or (rate and module.function_of(rate) is place)
        if rate is not None and here and module.text(rate) == text:
            return True
    return False


def makers(program: Program) -> Iterator[tuple[Call, ast.expr]]:
    """Yield the calls that create a schedule of known length, with the length."""
    for module in program.modules:
        for call in module.calls:
            name = call.name or call.method
            if not _MAKERS.search(name) and name.rpartition(".")[2] not in _PADDLENLP:
                continue
            given = call.bound()
            node = next((given[length] for length in _LENGTHS if length in given), None)
            if node is not None and _may_be_number(node):
                yield call, node


def _may_be_number(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float)
    return not isinstance(node, ast.List | ast.Tuple | ast.Dict)


def converts(call: Call) -> bool:
    """Whether what makes a schedule is given enough to count steps of epochs itself."""
    own = call.parameters() if ":" in call.name else ()
    return any(_CONVERTS.search(name) for name in (*call.bound(), *own))


def spelled_out(node: ast.expr, module: Module, depth: int = 0) -> str:
    """Return an expression with names and settings replaced by their assigned values.

    A name with several assignments represents all of them.
    """
    text = module.text(node)
    if depth > _DEPTH:
        return text
    parts = [text]
    for child in walk(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load):
            home = module.scope_of(child).lookup(child.id)
            for binding in home.bindings.get(child.id, ()) if home is not None else ():
                value = binding.value
                if binding.kind != "assign" or value is None or binding.path:
                    continue
                if not isinstance(value, ast.Call) or _counts(value):
                    parts.append(spelled_out(value, module, depth + 1))
        elif isinstance(child, ast.Attribute) and isinstance(child.ctx, ast.Load):
            parts += [spelled_out(value, module, depth + 1) for value in _set_before(child, module)]
    return " ".join(dict.fromkeys(parts))


def _set_before(node: ast.Attribute, module: Module) -> list[ast.expr]:
    """Return what `args.max_steps` is set to above a use of it."""
    return [
        binding.value
        for binding in assigned_paths(node, module)
        if binding.kind == "assign"
        and not binding.path
        and binding.value is not None
        and binding.module is module
        and binding.value.lineno < node.lineno
    ]


def times_window(node: ast.expr, module: Module) -> bool:
    """Whether a length is multiplied by the micro-batches of a window: `updates * accum`."""
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return any(times_window(part, module) for part in (left, right)) or any(
                isinstance(part, ast.Name | ast.Attribute) and _is_window(part, module)
                for part in (left, right)
            )
        case ast.Call(func=ast.Name(id="int"), args=[inner]):
            return times_window(inner, module)
        case ast.Name():
            home = module.scope_of(node).lookup(node.id)
            made = home.bindings.get(node.id, ()) if home is not None else ()
            value = made[0].value if len(made) == 1 and not made[0].path else None
            return isinstance(value, ast.BinOp) and times_window(value, module)
    return False


def _is_window(node: ast.expr, module: Module) -> bool:
    return bool(ACCUMULATES.search(module.text(node)))


def _counts(node: ast.Call) -> bool:
    """Whether a call only computes a number."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    name = node.func.id if isinstance(node.func, ast.Name) else name
    return name in ("len", "int", "ceil", "floor", "max", "min", "round")


def is_prepared(event: Event) -> bool:
    """Whether Accelerate has wrapped the schedule of an event."""
    program = event.module.program
    name = event.subject.rpartition(".")[2]
    for module in program.modules if program is not None else ():
        for call in module.calls:
            if call.method != "prepare":
                continue
            given = [module.text(arg).rpartition(".")[2] for arg in call.node.args]
            if name in given:
                return True
    return False
