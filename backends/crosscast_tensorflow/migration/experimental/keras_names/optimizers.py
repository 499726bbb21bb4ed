"""Optimizers of Keras 2: the argument decay, which Keras 3 ignores, and metrics."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Refusal
from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.library_calls import calls_of, canonical, last, value_of
from crosscast_tensorflow.migration.experimental.keras.added_code import DECAYED, additions
from crosscast_tensorflow.migration.experimental.keras.edits import raw
from crosscast_tensorflow.migration.experimental.keras.loop_optimizer import makers_of
from crosscast_tensorflow.migration.experimental.keras.policies import Outcomes
from crosscast_tensorflow.migration.experimental.keras.program import chain_of, is_keras_optimizer
from crosscast_tensorflow.migration.experimental.keras_names.table import DEFAULT_RATES

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_METRIC = re.compile(r"metric|loss(es)?\b|acc(uracy)?\b", re.I)
_LOADS = ("keras.models.load_model", "keras.saving.load_model")
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
    """Turn `Adam(1e-3, decay=1e-4)` into a schedule with the same rates.

    Where the program sets the rate itself, it becomes `with_decay(Adam(1e-3), 1e-4)`.

    Returns:
        The ids of the calls that were written anew.
    """
    done: set[int] = set()
    for call in module.calls:
        given = [k for k in call.node.keywords if k.arg == "decay"]
        if not given or module.is_dead(call.node) or not is_keras_optimizer(call):
            continue
        value = value_of(given[0].value, module)
        if isinstance(value, Known) and value.value in (0, 0.0, None):
            _rewrite(call, "", out)
            done.add(id(call.node))
            continue
        why = _why_no_schedule(call, program)
        if why and (loads := loads_models(program)):
            out.refuse(
                module,
                given[0].value,
                f"Keras 3 ignores the argument decay, {why}, and {loads} would forget the decay",
                _LINE,
            )
            continue
        if why:
            _rewrite(call, raw(module, given[0].value), out, helper=True)
            out.notes.append("decay is not saved with the model")
            done.add(id(call.node))
            continue
        _rewrite(call, raw(module, given[0].value), out)
        if any(_reads_rate(other) for other in program.modules):
            out.notes.append(_READ)
        done.add(id(call.node))
    return done


def loads_models(program: Program) -> str:
    """Return the name of a function that loads models with their optimizers; empty if none."""
    return next((last(n) for n, _ in calls_of(program) if canonical(n) in _LOADS), "")


def _rate(call: Call) -> ast.expr | None:
    named = [k.value for k in call.node.keywords if k.arg in ("learning_rate", "lr")]
    return next(iter([*named, *call.node.args[:1]]), None)


def _why_no_schedule(call: Call, program: Program) -> str:
    """Return why the rate cannot become a schedule; empty if it can."""
    rate = _rate(call)
    made = rate is not None and bool(makers_of(rate, call.module))
    if made or (rate is not None and any(isinstance(n, ast.Call) for n in ast.walk(rate))):
        return "the rate is perhaps a schedule already"
    value = value_of(rate, call.module) if rate is not None else Known(0.0)
    if isinstance(value, Known) and isinstance(value.value, str):
        return "the rate is not a number"
    if not _schedules(call):
        return "the name of its schedules is not certain here"
    for name, other in calls_of(program):
        if last(name) in _SETS_RATE:
            return f"{last(name)} sets the rate"
        if last(name) == "set_value":
            given = other.node.args[:1]
            if given and re.search(r"\.(lr|learning_rate)$", other.module.text(given[0])):
                return "the program sets the rate"
    for module in program.modules:
        assigned = (c.receiver_text for c in module.calls if c.method == "assign" and c.receiver)
        if any(re.search(r"\.(lr|learning_rate)$", text) for text in assigned):
            return "the program sets the rate"
        for node in module.every(ast.Attribute):
            if node.attr in ("lr", "learning_rate") and isinstance(node.ctx, ast.Store):
                owner = module.text(node.value)
                if "opt" in owner.lower():
                    return "the program sets the rate"
    return ""


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


def _rewrite(call: Call, decay: str, out: Outcomes, *, helper: bool = False) -> None:
    """Write the arguments of an optimizer again, in one line if they were in one."""
    module, node = call.module, call.node
    kept = [raw(module, argument) for argument in node.args]
    named = {k.arg: raw(module, k.value) for k in node.keywords if k.arg and k.arg != "decay"}
    if any(k.arg is None for k in node.keywords) or any(
        isinstance(argument, ast.Starred) for argument in node.args
    ):
        return out.refuse(module, node, "the arguments of the optimizer are not visible", _LINE)
    if "lr" in named:
        named = {"learning_rate": named.pop("lr")} | named
    if decay and not helper:
        rate = named.pop("learning_rate", "")
        rate = rate or (kept.pop(0) if kept else DEFAULT_RATES.get(last(canonical(call.name)), ""))
        schedule = f"{_schedules(call)}.InverseTimeDecay({rate}, 1, {decay})"
        if kept:
            kept.insert(0, schedule)
        else:
            named = {"learning_rate": schedule} | named
    texts = [*kept, *(f"{name}={text}" for name, text in named.items())]
    whole = raw(module, node)
    if "#" in whole:
        return out.refuse(module, node, "there are comments in the arguments", _LINE)
    text = f"{raw(module, node.func)}({', '.join(texts)})"
    if helper:
        text = f"{DECAYED}({text}, {decay})"
        added = additions(module, [DECAYED])
        if isinstance(added, Refusal):
            out.refusals.append(added)
            return None
        out.edits[:0] = added
    out.edits.append(replace_node(module, node, text))
    return None


def _iterated(call: Call) -> str:
    """Return what a loop around a call goes through if the receiver is its variable."""
    here: ast.AST | None = call.node
    while here is not None:
        loops: list[ast.For | ast.comprehension] = []
        if isinstance(here, ast.For):
            loops = [here]
        elif isinstance(here, ast.ListComp | ast.GeneratorExp):
            loops = list(here.generators)
        for loop in loops:
            if call.receiver_text in {
                node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)
            }:
                return call.module.text(loop.iter)
        here = call.module.parent(here)
    return ""


def metrics(module: Module, program: Program, out: Outcomes) -> None:
    """Rename `reset_states` of metrics."""
    for call in module.calls:
        if call.method != "reset_states" or call.receiver is None or module.is_dead(call.node):
            continue
        if program.function(call) is not None:
            continue
        makers = makers_of(call.receiver, module)
        certain = makers is not None and all(
            canonical(name).startswith("keras.metrics.")
            for maker in makers
            for name in maker.names or ("",)
        )
        if certain or _METRIC.search(f"{call.receiver_text} {_iterated(call)}"):
            text = f"{raw(module, call.receiver)}.reset_state"
            out.edits.append(replace_node(module, call.node.func, text))
        elif makers is None or all(
            canonical(name).startswith("keras.") for maker in makers for name in maker.names
        ):
            out.refuse(
                module,
                call.node,
                f"reset_states of {call.receiver_text} was removed in Keras 3",
                "write reset_state() for a metric; for a model, reset the states of its layers",
            )
