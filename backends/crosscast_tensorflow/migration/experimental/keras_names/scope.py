"""Which programs and modules use Keras, and which keep Keras 2 on purpose."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_tensorflow.migration.experimental.tensorflow1.keras_programs import (
    is_old_keras_program,
)

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_VARIABLE = "TF_USE_LEGACY_KERAS"
_SETTERS = ("setdefault", "putenv")
_KERAS_2 = re.compile(rf"{_VARIABLE}|\btf_keras\b")
ONLY_KERAS_3 = tuple(
    f"keras.{name}"
    for name in (
        "config.", "distribution.", "dtype_policies.", "ops.", "quantizers.", "random.", "tree.",
        "Variable",
    )
)  # fmt: skip
"""What only Keras 3 has, and no codemod writes."""
_BACKEND = re.compile(r"""["']KERAS_BACKEND["'][\])},: =]+["'](jax|torch|openvino)["']""")


def uses_keras_2(program: Program) -> bool:
    """Whether a program selects Keras 2, which it then keeps."""
    return any(map(selects_keras_2, program.modules))


def selects_keras_2(module: Module) -> bool:
    """Whether the text of a module selects Keras 2, or imports it."""
    return _KERAS_2.search(module.source.text) is not None


def keeps_meanings(program: Program) -> bool:
    """Whether names that Keras 2 and 3 both have must stay: by `stays_as_it_is`, or for Keras 3.

    A program with names that only Keras 3 has means its defaults and formulas, too.
    """
    return stays_as_it_is(program) or is_for_keras_3(program)


def is_for_keras_3(program: Program) -> bool:
    """Whether a program calls what only Keras 3 has, or selects a backend other than TensorFlow."""
    return any(name.startswith(ONLY_KERAS_3) for name, _ in calls_of(program)) or any(
        _BACKEND.search(module.source.text) for module in program.modules
    )


def stays_as_it_is(program: Program) -> bool:
    """Whether a program keeps Keras 2, or must first be migrated from TensorFlow 1 as a whole."""
    return uses_keras_2(program) or is_old_keras_program(program)


def choices_of_keras_2(program: Program) -> Iterator[tuple[Module, ast.Constant]]:
    """Yield where a program sets the environment variable that selects Keras 2."""
    for module in program.modules:
        if _VARIABLE not in module.source.text:
            continue
        for node in module.every(ast.Constant):
            if node.value != _VARIABLE or module.is_dead(node):
                continue
            parent = module.parent(node)
            set_by_call = isinstance(parent, ast.Call) and module.call(parent).method in _SETTERS
            stored = isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Store)
            if set_by_call or stored:
                yield module, node


def imports_keras(module: Module) -> bool:
    """Whether a module imports TensorFlow or Keras, also by `*`."""
    return any(name.partition(".")[0] in ("tensorflow", "keras") for name in module.imported)
