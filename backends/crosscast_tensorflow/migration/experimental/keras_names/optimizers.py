"""Optimizers of Keras 2: the argument decay, which Keras 3 ignores, and metrics."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.pysource.names.lookup import bindings_of
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.library_calls import calls_of, canonical, last, value_of
from crosscast_tensorflow.migration.experimental.edits import raw, with_attribute
from crosscast_tensorflow.migration.experimental.keras.makers import makers_of
from crosscast_tensorflow.migration.experimental.keras.program import (
    chain_of,
    is_keras_optimizer,
    open_call,
)
from crosscast_tensorflow.migration.experimental.keras_names.outcomes import Outcomes
from crosscast_tensorflow.migration.experimental.keras_names.table import DEFAULT_RATES

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_METRIC = re.compile(r"metric|loss(es)?\b|acc(uracy)?\b", re.I)
_SET = re.compile(r"\.(lr|learning_rate)(\.assign\(| *=[^=]|, )")
_SETS_RATE = ("LearningRateScheduler", "ReduceLROnPlateau")
_LINE = (
    "learning_rate=tf.keras.optimizers.schedules.InverseTimeDecay(rate, 1, decay); a schedule "
    "cannot be set by callbacks or by assignment"
)

_READ = (
    "what the program reads from the optimizer is now the decayed learning rate (Keras 2: the one "
    "it began with)"
)


def decays(module: Module, program: Program, out: Outcomes) -> set[int]:
    """Turn `Adam(1e-3, decay=1e-4)` into a schedule with the same rates, where nothing sets one.

    Returns:
        The ids of the calls that were written anew.
    """
    done: set[int] = set()
    for call in module.calls:
        decay = next((k.value for k in call.node.keywords if k.arg == "decay"), None)
        if decay is None or module.is_dead(call.node) or not is_keras_optimizer(call):
            continue
        value = value_of(decay, module)
        none = isinstance(value, Known) and value.value in (0, 0.0, None)
        why = _why_not_rewritten(call) or ("" if none else _why_no_schedule(call, program))
        if why:
            out.refuse(module, decay, f"Keras 3 ignores the argument decay, and {why}", _LINE)
            continue
        _rewrite(call, "" if none else raw(module, decay), out)
        done.add(id(call.node))
        if not none and any(_reads_rate(other) for other in program.modules):
            out.notes.append(_READ)
    return done


def _why_not_rewritten(call: Call) -> str:
    """Return why the arguments of a call cannot be written again; empty if they can."""
    if open_call(call.node):
        return "the other arguments are not visible"
    return "there are comments in its arguments" if "#" in raw(call.module, call.node) else ""


def _rate(call: Call) -> ast.expr | None:
    named = [k.value for k in call.node.keywords if k.arg in ("learning_rate", "lr")]
    return next(iter([*named, *call.node.args[:1]]), None)


def _why_no_schedule(call: Call, program: Program) -> str:
    """Return why the rate cannot become a schedule; empty if it can."""
    rate = _rate(call)
    made = rate is not None and bool(makers_of(rate, call.module))
    if made or (rate is not None and any(isinstance(n, ast.Call) for n in ast.walk(rate))):
        return "the rate is perhaps a schedule already"
    if not _schedules(call):
        return "the name of its schedules is not certain here"
    for name, _ in calls_of(program):
        if last(name) in _SETS_RATE:
            return f"{last(name)} sets the rate"
    sets = any(_SET.search(module.source.text) for module in program.modules)
    return "the program sets the rate" if sets else ""


def _reads_rate(module: Module) -> bool:
    """Whether a module reads the learning rate of what is called an optimizer."""
    return any(
        node.attr in ("lr", "learning_rate")
        and isinstance(node.ctx, ast.Load)
        and "opt" in module.text(node.value).lower()
        for node in module.every(ast.Attribute)
    )


def _schedules(call: Call) -> str:
    """Return how the module of a call writes `keras.optimizers.schedules`; empty if not known."""
    parts = chain_of(call.node.func)
    if len(parts) > 1:
        return ".".join([*parts[:-1], "schedules"])
    for statement in call.module.tree.body:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                if alias.name == "tensorflow":
                    return f"{alias.asname or alias.name}.keras.optimizers.schedules"
    return ""


def _rewrite(call: Call, decay: str, out: Outcomes) -> None:
    """Write the arguments of an optimizer again, with a schedule if there is a decay."""
    module, node = call.module, call.node
    kept = [raw(module, argument) for argument in node.args]
    named = {k.arg: raw(module, k.value) for k in node.keywords if k.arg and k.arg != "decay"}
    if "lr" in named:
        named = {"learning_rate": named.pop("lr")} | named
    if decay:
        rate = named.pop("learning_rate", "")
        rate = rate or (kept.pop(0) if kept else DEFAULT_RATES.get(last(canonical(call.name)), ""))
        schedule = f"{_schedules(call)}.InverseTimeDecay({rate}, 1, {decay})"
        if kept:
            kept.insert(0, schedule)
        else:
            named = {"learning_rate": schedule} | named
    texts = [*kept, *(f"{name}={text}" for name, text in named.items())]
    out.edits.append(replace_node(module, node, f"{raw(module, node.func)}({', '.join(texts)})"))


def metrics(module: Module, program: Program, out: Outcomes) -> None:
    """Rename `reset_states` of metrics."""
    for call in module.calls:
        owner = call.receiver
        if call.method != "reset_states" or owner is None or module.is_dead(call.node):
            continue
        if program.function(call) is not None:
            continue
        names = [canonical(n) for maker in makers_of(owner, module) or () for n in maker.names]
        bound = bindings_of(owner.id, owner, module) if isinstance(owner, ast.Name) else ()
        loops = [module.text(b.value) for b in bound if b.kind == "loop" and b.value is not None]
        certain = bool(names) and all(name.startswith("keras.metrics.") for name in names)
        if certain or _METRIC.search(" ".join([call.receiver_text, *loops])):
            assert isinstance(call.node.func, ast.Attribute)
            out.edits.append(with_attribute(module, call.node.func, "reset_state"))
        elif all(name.startswith("keras.") for name in names):
            out.refuse(
                module,
                call.node,
                f"reset_states of {call.receiver_text} was removed in Keras 3",
                "write reset_state() for a metric; for a model, reset the states of its layers",
            )
