"""Programs of TensorFlow 1 that train with Keras."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from crosscast.migrate.keras.program import compiles
from crosscast.migrate.tensorflow1.module_names import imports_of, uses_of, written_for_v1
from crosscast.pysource.programs.program import Program
from crosscast.readers.python.library_calls import calls_of, canonical, last

_FOUND: WeakKeyDictionary[Program, bool] = WeakKeyDictionary()


def is_old_keras_program(program: Program) -> bool:
    """Whether a program was written for TensorFlow 1 and trains a model of Keras."""
    found = _FOUND.get(program)
    if found is None:
        found = _FOUND[program] = _is_old(program) and _trains_keras(program)
    return found


def _trains_keras(program: Program) -> bool:
    """Whether a program compiles a model of Keras, or trains one in a loop."""
    if compiles(program):
        return True
    names = [canonical(name) for name, _ in calls_of(program)]
    loops = any(last(name) == "GradientTape" for name in names)
    return loops and any(name.startswith(("keras.", "tensorflow.python.keras.")) for name in names)


def _is_old(program: Program) -> bool:
    return any(
        written_for_v1(module, uses_of(module, imports_of(module))) for module in program.modules
    )
