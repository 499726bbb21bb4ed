"""Programs of TensorFlow 1 that train with Keras."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from weakref import WeakKeyDictionary

from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.readers.python.library_calls import calls_of, canonical, last
from crosscast_tensorflow.migration.experimental.keras.program import compiles
from crosscast_tensorflow.migration.experimental.tensorflow1.eras import Era, era_of, is_eager
from crosscast_tensorflow.migration.experimental.tensorflow1.started_modules import parts_of

_Parts = Sequence[tuple[Sequence[Module], Era]]
_FOUND: WeakKeyDictionary[Program, _Parts] = WeakKeyDictionary()


def is_old_keras_program(program: Program) -> bool:
    """Whether a script of a program trains a model of Keras and shows signs of TensorFlow 1."""
    return bool(old_keras_parts(program))


def old_keras_parts(program: Program) -> _Parts:
    """Return the scripts that train with Keras and show signs of TensorFlow 1.

    Each has the modules that it imports, and what they show: perhaps it has signs of both releases.
    """
    found = _FOUND.get(program)
    if found is None:
        eras = [(part, era_of(part)) for part in parts_of(program)]
        trained = _training(program)
        found = [
            (part, era) for part, era in eras if era.old and (is_eager(part) or any(trained(part)))
        ]
        _FOUND[program] = found
    return found


def _training(program: Program) -> Callable[[Sequence[Module]], Iterator[bool]]:
    """Return what tells of some modules where they train Keras: with `compile`, or in a loop."""
    compiled = {call.module for call in compiles(program)}
    calls = [(canonical(name), call.module) for name, call in calls_of(program)]
    tapes = {module for name, module in calls if last(name) == "GradientTape"}
    places = ("keras.", "tensorflow.python.keras.")
    keras = {module for name, module in calls if name.startswith(places)}

    def trained(part: Sequence[Module]) -> Iterator[bool]:
        yield any(module in compiled for module in part)
        yield any(module in tapes for module in part) and any(module in keras for module in part)

    return trained
