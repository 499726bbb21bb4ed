"""Learning rate schedules and their lengths."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from crosscast_reading.lint.answers.loop import made_by
from crosscast_reading.lint.answers.windows import ACCUMULATES
from crosscast_reading.pysource.names.containers import assigned_paths
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.once import once
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.syntax.nodes import dotted_text, identifier, walk
from crosscast_reading.trainstep.events import Event

_LENGTHS = ("num_training_steps", "total_steps", "T_max", "total_iters", "max_iters", "t_total")
_MAKERS = re.compile(
    r"get_\w{0,60}schedule(r|_with_\w{1,60})?$|OneCycleLR$|CosineAnnealingLR$|LinearLR$|PolynomialLR$"
)
_PADDLENLP = ("LinearDecayWithWarmup", "CosineDecayWithWarmup", "PolyDecayWithWarmup")
_TAKES_RATE = re.compile(r"paddle\.optimizer\.(?!lr\.)[A-Z]\w+")
_OF_PADDLE = re.compile(r"^(paddle\.optimizer\.lr\.|paddlenlp\.|ppdiffusers\.)")
_CONVERTS = re.compile(r"per_epoch|batch_?size", re.I)
_NAMED = re.compile("sched|lr", re.I)
_OTHERS = re.compile("paddle|tensorflow|.*:")
_DEPTH = 6


def is_schedule(event: Event) -> bool:
    """Whether it is a library's schedule with the interface of PyTorch."""
    program, texts = event.module.program, event.module.source.text
    match event.node:
        case ast.Call(func=ast.Attribute(value=schedule, attr="step")):
            names = made_by(event, schedule)
        case _:
            return False
    if "by_hand" in event.detail or not _NAMED.search(event.subject) or "import paddle" in texts:
        return False
    scopes = {name: program.class_named(name) for name in names}
    return all(
        "lr_scheduler" in program.library_base(scope) if scope else not _OTHERS.match(name)
        for name, scope in scopes.items()
    )


def is_paddle_schedule(event: Event) -> bool:
    """Whether it is a schedule of Paddle or its libraries, which every call advances by one.

    The variable may have the rate of a flag where there is no schedule.
    """
    match event.node:
        case ast.Call(func=ast.Attribute(value=schedule, attr="step"), args=[], keywords=[]):
            made = made_by(event, schedule)
            names = [name for name in made if not name.startswith("argparse.")]
            if names and all(_OF_PADDLE.match(name) for name in names):
                return True
            return bool(names) and _is_rate_of_optimizer(schedule, names, event.module)
    return False


def _is_rate_of_optimizer(expression: ast.expr, made: Sequence[str], module: Module) -> bool:
    """Whether an optimizer of Paddle has it as its rate, which is a number or a schedule.

    The class may be one of a file that was not given, but none that has its own way to advance.
    """
    program = module.program
    scopes = [program.class_named(name) for name in made]
    if any(s is not None and program.has_attribute(s, "step") for s in scopes):
        return False
    text, place = module.text(expression), module.function_of(expression)
    return any(
        (isinstance(rate, ast.Attribute) or module.function_of(rate) is place)
        and module.text(rate) == text
        for rate in _given_rates(module)
    )


@once
def _given_rates(module: Module) -> tuple[ast.expr, ...]:
    """Return the learning rates that calls of optimizers of Paddle are given."""
    calls = [c for c in module.calls if any(_TAKES_RATE.fullmatch(name) for name in c.names)]
    given = (call.bound().get("learning_rate") for call in calls)
    return tuple(rate for rate in given if rate is not None)


@once
def makers(program: Program) -> tuple[tuple[Call, ast.expr], ...]:
    """Return the calls that create a schedule of known length, with the length."""
    return tuple(_makers(program))


def _makers(program: Program) -> Iterator[tuple[Call, ast.expr]]:
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

    A name with several assignments represents all of them, a parameter what the calls give for it.
    """
    text = module.text(node)
    if depth > _DEPTH:
        return text
    parts = [text]
    for child in walk(node):
        match child:
            case ast.Name(id=name):
                scope = module.scope_of(child).lookup(name)
                bindings = scope.bindings.get(name, ()) if scope is not None else ()
                values: list[tuple[ast.expr | None, Module]] = [
                    (b.assigned, module)
                    for b in bindings
                    if not isinstance(b.assigned, ast.Call) or _counts(b.assigned)
                ]
                for binding in bindings:
                    if binding.kind == "parameter":
                        values += module.program.arguments_for(binding)
            case ast.Attribute():  # `args.max_steps`
                values = [(binding.assigned, module) for binding in assigned_paths(child, module)]
            case _:
                continue
        parts += [
            spelled_out(value, home, depth + 1) for value, home in values if value is not None
        ]
    return " ".join(dict.fromkeys(parts))


def given_for(node: ast.expr, module: Module) -> tuple[ast.expr, Module]:
    """Return the argument of a function's only call for its parameter, else the node itself."""
    if isinstance(node, ast.Name):
        scope = module.scope_of(node).lookup(node.id)
        bindings = scope.bindings.get(node.id, ()) if scope is not None else ()
        match [module.program.arguments_for(b) for b in bindings if b.kind == "parameter"]:
            case [[given]]:
                return given
    return node, module


def times_window(node: ast.expr | None, module: Module, hops: int = _DEPTH) -> bool:
    """Whether a length is multiplied by the micro-batches of a window: `updates * accum`."""
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return any(
                ACCUMULATES.search(dotted_text(part)) or times_window(part, module, hops)
                for part in (left, right)
            )
        case ast.Call(func=ast.Name(id="int"), args=[inner]):
            return times_window(inner, module, hops)
        case ast.Name() if hops:
            home = module.scope_of(node).lookup(node.id)
            made = home.bindings.get(node.id, ()) if home is not None else ()
            return len(made) == 1 and times_window(made[0].assigned, module, hops - 1)
    return False


def _counts(node: ast.Call) -> bool:
    """Whether a call only computes a number."""
    return identifier(node.func) in ("len", "int", "ceil", "floor", "max", "min", "round")


def is_prepared(event: Event) -> bool:
    """Whether Accelerate has wrapped the schedule of an event."""
    program = event.module.program
    name = event.subject.rpartition(".")[2]
    for module in program.modules:
        for call in module.calls:
            if call.method != "prepare":
                continue
            given = [module.text(arg).rpartition(".")[2] for arg in call.node.args]
            if name in given:
                return True
    return False
