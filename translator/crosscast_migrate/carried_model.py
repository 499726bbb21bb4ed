"""The model of a source, where it can be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import Span
from crosscast_migrate.compiled_sums import compiled_sum
from crosscast_migrate.loss_terms import Sum, sum_of
from crosscast_migrate.models.installed import model_tables
from crosscast_migrate.models.network import Network, UnreadableError
from crosscast_migrate.models.reading import network_of, takes_labels_as_rows
from crosscast_migrate.models.writing import notes, written

if TYPE_CHECKING:
    from crosscast.targets.backend import Target
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.trainstep.events import TrainingStep


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedModel:
    """The model that was read, or why none was."""

    network: Network | None = None
    reason: str = ""
    place: Span | None = None
    """Where the model is created, or what could not be read."""
    is_flat: bool = False
    """Whether the loss takes every label as a row, whatever model it is."""
    losses: Sum | None = None
    """The losses of a sum; the model returns what they take, each once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnModelText:
    """The text of own_model.py for one target, or why the user must write it."""

    text: str = ""
    reason: str = ""
    notes: tuple[str, ...] = ()
    """What is not carried of a model that is written."""


def carried_model(program: Program, steps: Sequence[TrainingStep], framework: str) -> CarriedModel:
    """Return the model of a program. Never raises.

    Args:
        program: the program.
        steps: its training steps.
        framework: the backend of its framework.
    """
    is_flat = takes_labels_as_rows(program, steps, framework)
    tables = model_tables().get(framework)
    losses = sum_of(program, steps, tables.reading if tables is not None else None)
    losses = losses or (compiled_sum(program) if not steps else None)
    taken = [term.output for term in losses.terms] if losses is not None else []
    try:
        network = network_of(program, list(steps), framework, taken)
    except UnreadableError as error:
        return CarriedModel(reason=error.reason, place=error.span, is_flat=is_flat)
    except RecursionError:
        return CarriedModel(reason="the model is nested too deeply", is_flat=is_flat)
    return CarriedModel(network=network, place=network.place, is_flat=is_flat, losses=losses)


def model_text(carried: CarriedModel, target: Target) -> OwnModelText:
    """Return own_model.py for a target."""
    if carried.network is None:
        return OwnModelText(reason=carried.reason)
    if target.dialect != target.backend.dialects[0]:
        return OwnModelText(reason=f"models are written for {target.backend.dialects[0].title}")
    try:
        text = written(carried.network, target.backend.name)
    except UnreadableError as error:
        return OwnModelText(reason=error.reason)
    told = (*carried.network.notes, *notes(carried.network, target.backend.name))
    return OwnModelText(text=text, notes=told)
