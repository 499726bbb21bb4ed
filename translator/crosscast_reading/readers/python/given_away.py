"""What a program hands to code that is not among the given files, by the names of the arguments.

`create_optimizer(args.lr, args.warmup_steps)` of another package says that there is a warm-up, and
nothing of its course. Where nothing else is known of a feature, its fields are unknown with such a
call as the reason: what was not read must not look like something that is not there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.libraries.packages import KNOWN
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.fact_writer import FactWriter, content, is_number
from crosscast_reading.readers.python.frameworks import framework_of
from crosscast_reading.readers.usual_names import (
    FEATURES,
    PRECISION,
    SCALES,
    SCHEDULES,
    WARMUP,
    snake,
)

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.program import Program

READER_NAME = "given_away"
_READ = frozenset(
    (
        *KNOWN,
        *("numpy", "math", "os", "argparse", "json", "yaml", "logging", "wandb", "mlflow"),
        *("time", "absl", "click"),
        *("tensorboardX", "visualdl", "builtins", "functools", "dataclasses", "pathlib", "sys"),
    )
)
"""Packages whose calls readers know, or that do not train."""
_TELLS = frozenset(
    (
        *("print", "dict", "format", "info", "debug", "warning", "log", "add_argument", "update"),
        *("Namespace", "SimpleNamespace", "add_scalar", "write", "append", "join", "isinstance"),
        *("str", "int", "float", "len", "min", "max", "round", "bool", "hasattr", "getattr"),
        *("setattr", "get", "pop", "setdefault", "set_postfix", "add_arg", "add_flag", "save"),
    )
)
"""Functions and methods that report, convert or keep what they are given."""
_MAKERS = (
    (re.compile(r"loss_?scal", re.IGNORECASE), "loss_scale"),
    (re.compile(r"(lr|rate)_?sched|(build|create|make|get)_sched", re.IGNORECASE), "lr_scheduler"),
    (
        re.compile(r"grad\w{0,60}?accum|accum\w{0,60}?(grad|optim)", re.IGNORECASE),
        "accumulate_gradients",
    ),
)
"""Names of functions and classes that say what they make of their arguments."""
_OPTIMIZER = re.compile(r"(^|_)opt(im(izer)?)?($|_)", re.IGNORECASE)
_GRAPH = re.compile(
    r"global_step=global_step|get_(or_create_)?global_step|\bSession\(|compat\.v1|\bEstimator\b"
    r"|LearningRateScheduler"
)
_LEAST_SCALE = 2.0
"""Smaller factors weigh losses."""


def given_away(program: Program, told: Collection[str]) -> list[Fact]:
    """Return unknown facts about features that only code outside the given files decides.

    Args:
        program: the program.
        told: the fields of all facts found so far.
    """
    sections = {name.partition(".")[0] for name in told}
    if "framework" not in sections:
        return []
    missing = {f: names for f, names in FEATURES.items() if f.partition(".")[0] not in sections}
    writer = FactWriter(READER_NAME)
    for call in program.calls() if missing else ():
        for name, argument, reason in _clues(call):
            fields = [field for field, names in missing.items() if name in names]
            if not fields or not (_is_unread(call, program) or _picks_schedule(call)):
                continue
            by_flag = PRECISION in fields and _is_of_flag(argument, call)
            off = _is_off(argument, call) or (name in SCALES and _weighs(argument, call))
            if off and not by_flag:
                continue
            span = call.module.span(argument)
            for field in fields:
                word = {WARMUP: "yes", PRECISION: "flag" if by_flag else ""}.get(field)
                if word:
                    writer.say(field, word, span, confidence="likely", reason=reason)
                else:
                    writer.unknown(field, reason, span)
                del missing[field]
            if fields and "schedule.name" in fields and _moves_itself(call, program):
                why = "an optimizer of Keras asks its schedule at every update"
                step = "schedule.stepped_per"
                writer.say(step, "step", span, confidence="likely", reason=why)
    return writer.facts


def _moves_itself(call: Call, program: Program) -> bool:
    """Whether the schedule is in an optimizer of Keras, which counts its updates itself.

    `optimizer = create_optimizer(rate, warmup_steps)` may make a graph of TensorFlow 1, whose
    `global_step` the program can count otherwise, and a callback moves once an epoch.
    """
    if framework_of(program) != "tensorflow":
        return False
    if any(_GRAPH.search(module.source.text) for module in program.modules):
        return False
    statement = call.module.parent(call.node)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    parts = [part for t in targets for part in (t.elts if isinstance(t, ast.Tuple) else [t])]
    named = any(_OPTIMIZER.search(identifier(part)) for part in parts)
    return named or _picks_schedule(call)


def _clues(call: Call) -> Iterator[tuple[str, ast.expr, str]]:
    """Yield usual names of arguments and results, where they stand, and what that means.

    A positional argument is called as what stands there is.
    """
    if _picks_schedule(call):
        home = call.module.text(call.node.args[0])
        yield SCHEDULES[0], call.node, f"its class is looked up in {home} by name"
        return
    text = call.module.text(call.node.func)
    words = [(keyword.arg or "", keyword.value) for keyword in call.node.keywords]
    given = [(identifier(each) or _key(each), each) for each in call.node.args] + words
    for name, argument in given:
        yield snake(name), argument, f"{name} is given to {text}, which is not read"
    for maker, name in _MAKERS:
        if given and maker.search(call.method):
            yield snake(name), given[0][1], f"{name} is given to {text}, which is not read"
    if _makes_schedule(call, [name for name, _ in given]):
        yield SCHEDULES[0], call.node, f"{text} makes the schedule, and is not read"


def _makes_schedule(call: Call, given: Collection[str]) -> bool:
    """Whether a result is called so: `optimizer, scheduler = build(model)`."""
    statement = call.module.parent(call.node)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    parts = [part for t in targets for part in (t.elts if isinstance(t, ast.Tuple) else [t])]
    names = {snake(identifier(part)) for part in parts}
    around = (*names, *map(snake, given))
    return bool(names & {*SCHEDULES}) and any("optim" in name or name == "opt" for name in around)


def _picks_schedule(call: Call) -> bool:
    """Whether it is `getattr(torch.optim.lr_scheduler, name)`."""
    match call.node:
        case ast.Call(func=ast.Name(id="getattr"), args=[home, name]):
            picked = call.module.resolve(home).endswith((".schedules", ".lr_scheduler", ".lr"))
            return picked and not isinstance(name, ast.Constant)
    return False


def _key(node: ast.expr) -> str:
    """Return the key of an entry, `config["warmup"]`; empty for anything else."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return ""


def _is_of_flag(argument: ast.expr, call: Call) -> bool:
    value = evaluate(argument, call.module)
    return isinstance(value, Known) and bool(value.flag)


def _weighs(argument: ast.expr, call: Call) -> bool:
    """Whether the argument is a number that is too small for a loss scale."""
    given = content(evaluate(argument, call.module))
    return is_number(given) and float(given) < _LEAST_SCALE


def _is_off(argument: ast.expr, call: Call) -> bool:
    """Whether the argument has a value that asks for nothing, by the defaults of flags."""
    given = content(evaluate(argument, call.module))
    return given in (False, 0, "", "none", "None") or (
        given is None and isinstance(argument, ast.Constant)
    )


def _is_unread(call: Call, program: Program) -> bool:
    """Whether the called code is neither in the program nor known to a reader."""
    if call.method in _TELLS:
        return False
    if program.function(call) is not None or program.constructor(call) is not None:
        return False
    return call.name.partition(".")[0].partition(":")[0] not in _READ
