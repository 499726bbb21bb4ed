"""CL725: a run goes on from stored weights, but its schedule begins again."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.values.value import Instance, Known
from crosscast_reading.readers.python.library_calls import calls_of, canonical, value_of
from crosscast_reading.readers.python.module_words import words_of
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.answers.keras import program_of
from crosscast_tensorflow.reading.keras_optimizers import optimizer_calls

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.program import Program

_RESTORES = re.compile(
    r"^(iterations|set_weights|load_own_variables|load_model|Checkpoint|CheckpointManager"
    r"|BackupAndRestore|history)$"
)
"""Names in programs that may set the step of an optimizer, or train in several parts."""
_WEIGHTS_ONLY = re.compile(r"\.(h5|hdf5|keras)['\"]*$")
"""Files from which `load_weights` takes no state for an optimizer that has made no step yet."""


def check(subject: Subject) -> Iterator[Finding]:
    """Find `fit(initial_epoch=...)` behind `load_weights`, with a schedule that counts updates."""
    program = program_of(subject)
    if program is None:
        return
    fits = [call for _, call in calls_of(program) if call.method == "fit"]
    if len(fits) != 1 or not _is_later(fits[0]):
        return
    schedule = _schedule(program)
    loaded = _loaded_before(fits[0], program)
    if schedule is None or loaded is None:
        return
    if any(_RESTORES.match(word) for module in program.modules for word in words_of(module)):
        return
    fit = fits[0]
    yield Finding(
        span=fit.module.span(next(k.value for k in fit.node.keywords if k.arg == "initial_epoch")),
        message="the epochs go on, but load_weights restores no step of the optimizer: its "
        "schedule begins again, and does not reach its end",
        hint="set optimizer.iterations to initial_epoch * steps_per_epoch, or store and load the "
        "whole model",
        related=(loaded.module.span(loaded.node), schedule.module.span(schedule.node)),
    )


def _is_later(fit: Call) -> bool:
    """Whether the first epoch of a run is not the first of all."""
    given = next((k.value for k in fit.node.keywords if k.arg == "initial_epoch"), None)
    return given is not None and value_of(given, fit.module) not in (Known(0), None)


def _schedule(program: Program) -> Call | None:
    """Return an optimizer if all optimizers of a program have schedules of Keras."""
    calls = [call for name, call in optimizer_calls(program) if name.startswith("keras.")]
    for call in calls:
        rate = call.argument("learning_rate")
        if not isinstance(rate, Instance):
            return None
        if not canonical(rate.made_by).startswith("keras.optimizers.schedules."):
            return None
    return calls[0] if calls else None


def _loaded_before(fit: Call, program: Program) -> Call | None:
    """Return the call that loads the weights of the model before it trains."""
    module = fit.module
    for _, call in calls_of(program):
        if call.method != "load_weights" or call.receiver_text != fit.receiver_text:
            continue
        same = call.module is module and module.function_of(call.node) is module.function_of(
            fit.node
        )
        if same and call.node.lineno < fit.node.lineno and _is_weights_file(call):
            return call
    return None


def _is_weights_file(call: Call) -> bool:
    match call.node.args:
        case [ast.JoinedStr(values=[*_, ast.Constant(value=str(end))]), *_]:
            return bool(_WEIGHTS_ONLY.search(end))
        case [path, *_]:
            value = value_of(path, call.module)
            return isinstance(value, Known) and bool(_WEIGHTS_ONLY.search(str(value.value)))
    return False


RULE = Rule("CL725", check, hints=("initial_epoch",))
