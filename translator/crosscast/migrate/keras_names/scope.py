"""Which programs and modules use Keras, and which keep Keras 2 on purpose."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from crosscast.edits.text_edits import overlap

if TYPE_CHECKING:
    from crosscast.edits.edit import Edit
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


def apart(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """Return the edits without those that overlap an earlier one: they come in the next round."""
    kept: list[Edit] = []
    for edit in dict.fromkeys(edits):
        if not any(overlap(edit, other) for other in kept):
            kept.append(edit)
    return tuple(kept)
