"""Reads models that train themselves: `paddle.Model(net)`, its `prepare` and its `fit`.

The loop of the library makes a step for every batch, shuffles, keeps a short last batch, and
advances a schedule with every step unless a callback says otherwise.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import unknown
from crosscast_reading.pysource.names.containers import ends_of
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.fact_writer import FactWriter, content, place_of
from crosscast_reading.readers.python.library_calls import calls_of, matching, uses_framework
from crosscast_reading.readers.python.losses import compiled_losses
from crosscast_reading.readers.python.shuffling import FIELD

if TYPE_CHECKING:
    from crosscast_reading.facts.fact import Fact
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

NAME = "paddle-model"
FITS = re.compile(r"paddle\.Model\.fit")
_PREPARES = re.compile(r"paddle\.Model\.prepare")
_SCHEDULES = re.compile(r"paddle\.callbacks\.LRScheduler")
_LOADER = "paddle.io.DataLoader"


class PaddleModelReader:
    """Reads what `fit` does with the rows, and the loss that `prepare` gets."""

    name = NAME
    hints = ("paddle",)

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield the facts."""
        fits = [call for _, call in matching(program, FITS)]
        if not uses_framework(program, "paddle") or not fits:
            return
        prepared = [call for _, call in matching(program, _PREPARES)]
        yield from compiled_losses(iter(prepared), NAME, "prepare")
        for call in prepared:
            if content(call.argument("amp_configs", Known(None))) is not None:
                reason = "amp_configs is not read"
                yield unknown("precision.mode", reason, place_of(call), reader=NAME)
        for _, call in matching(program, _SCHEDULES):
            reason = f"{call.module.text(call.node)[:60]} is not read"
            yield unknown("schedule.stepped_per", reason, place_of(call), reader=NAME)
        yield from _fitted(fits[0])


def advances_by_step(program: Program) -> bool:
    """Whether the library advances a schedule with every step of the optimizer."""
    names = [name for name, _ in calls_of(program)]
    has_fit = any(FITS.fullmatch(name) for name in names)
    return has_fit and not any(_SCHEDULES.fullmatch(name) for name in names)


def _fitted(call: Call) -> Iterator[Fact]:
    writer, place = FactWriter(NAME), place_of(call)
    writer.number("run.epochs", call.argument("epochs", Known(1)), place)
    if "accumulate_grad_batches" in call.bound():
        steps = call.argument("accumulate_grad_batches")
        writer.number("accumulation.steps", steps, place)
        if content(steps) != 1:
            writer.say("accumulation.loss_divided", "no", place)
    batched = _has_loader(call)
    if batched is None:
        for field in ("batch.micro_batch_size", "batch.drop_last", FIELD):
            writer.unknown(field, "whether a loader makes the batches is not seen", place)
    elif not batched:
        writer.number("batch.micro_batch_size", call.argument("batch_size", Known(1)), place)
        usually = (("drop_last", "batch.drop_last", False), ("shuffle", FIELD, True))
        for argument, field, usual in usually:
            said = content(call.argument(argument, Known(usual)))
            if isinstance(said, bool):
                writer.say(field, "yes" if said else "no", place)
            else:
                writer.unknown(field, "a setting decides", place)
    yield from writer.facts


def _has_loader(call: Call) -> bool | None:
    """Whether a loader of the program makes the batches; None if that is not certain."""
    node = call.bound().get("train_data")
    made = ends_of(node, call.module) if node is not None else ()
    kinds = {_is_loader(*each) for each in made}
    return kinds.pop() if len(kinds) == 1 else None


def _is_loader(node: ast.expr, module: Module) -> bool | None:
    """Whether an object is a loader, and no data set; None if its class is not seen."""
    names = module.call(node).names if isinstance(node, ast.Call) else ()
    if _LOADER in names:
        return True
    program = module.program
    sets = any(each.startswith("paddle.") or program.class_named(each) for each in names)
    return False if sets else None


READER = PaddleModelReader()
