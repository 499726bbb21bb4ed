"""Which programs and modules use Keras, and which keep Keras 2 on purpose."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crosscast.pysource.programs.module import Module
    from crosscast.pysource.programs.program import Program

_KERAS_2 = re.compile(r"TF_USE_LEGACY_KERAS|\btf_keras\b")


def uses_keras_2(program: Program) -> bool:
    """Whether a program selects Keras 2, which it then keeps."""
    return any(_KERAS_2.search(module.source.text) for module in program.modules)


def imports_keras(module: Module) -> bool:
    """Whether a module imports TensorFlow or Keras."""
    return any(
        name.partition(".")[0] in ("tensorflow", "keras") for name in module.imports.values()
    )
