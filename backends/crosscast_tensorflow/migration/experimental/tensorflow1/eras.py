"""Which release of TensorFlow a program was written for, from what only one of them has.

The same name can mean two functions: `tf.image.resize` computes other values in TensorFlow 2, and
the layers of Keras have other defaults. So nothing that exists in both releases is rewritten unless
the program shows signs of TensorFlow 1 and none of TensorFlow 2.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crosscast_migrate.codemod import Refusal
from crosscast_reading.pysource.names.reached import unreached
from crosscast_reading.pysource.programs.module import Module
from crosscast_tensorflow.migration.experimental.tensorflow1.eager_names import KEPT, RENAMED
from crosscast_tensorflow.migration.experimental.tensorflow1.module_names import (
    Use,
    certain_uses,
    signs_of_v1,
)
from crosscast_tensorflow.migration.experimental.tensorflow1.v2_names import is_v2_name

_EAGER = ("enable_eager_execution", "enable_v2_behavior")
_EAGER_ONLY = ("GradientTape", "function")
"""What TensorFlow 1.15 has, too, but what its programs use only after a call of `_EAGER`."""
_GRAPHS = (
    "Session", "InteractiveSession", "placeholder", "placeholder_with_default", "get_variable",
    "variable_scope", "contrib", "layers", "estimator",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sign:
    """A name that only one release has, and where it is used."""

    module: Module
    use: Use

    def __str__(self) -> str:
        return f"tf.{self.use.path}"


@dataclass(frozen=True, slots=True)
class Era:
    """What some modules, a script with what it imports, show of their release."""

    old: tuple[Sign, ...]
    """Names of TensorFlow 1."""
    new: Sign | None
    """A name of TensorFlow 2; None without one."""

    @property
    def certain(self) -> bool:
        """Whether the modules were written for TensorFlow 1."""
        return bool(self.old) and self.new is None

    @property
    def contradictory(self) -> bool:
        """Whether the modules use names of both releases."""
        return bool(self.old) and self.new is not None

    def refusal(self) -> Refusal:
        """Return what to say of modules with names of both releases."""
        first, new = self.old[0], self.new
        assert new is not None
        known = {f"{sign} is tf.{text}" for sign in self.old if (text := _in_v2(sign.use.path))}
        words = f" ({'; '.join(sorted(known)[:4])})" if known else ""
        line = new.module.span(new.use.node).line
        return Refusal(
            span=first.module.span(first.use.node),
            message=f"{first} is of TensorFlow 1, but {new} in line {line} of "
            f"{new.module.source.name} of TensorFlow 2: which release the program was written for "
            "is not certain, and names that both have do not mean the same",
            hint=f"give the names of TensorFlow 1 those of TensorFlow 2{words}, and run again",
        )


def era_of(modules: Sequence[Module]) -> Era:
    """Return what some modules show; uses in functions that nothing refers to do not count."""
    signs = [Sign(module, use) for module in modules for use in signs_of_v1(module)]
    if not signs:
        return Era((), None)
    lost = {id(node) for _, node in unreached(modules[0].program, ())}
    old = [sign for sign in signs if not _is_within(sign, lost)]
    graphs = any(sign.use.path.partition(".")[0] in _GRAPHS for sign in old)
    new = (
        Sign(module, use)
        for module in modules
        for use in _signs_of_v2(module, structure=not graphs and not is_eager(modules))
    )
    return Era(tuple(old), next((sign for sign in new if not _is_within(sign, lost)), None))


def is_eager(modules: Sequence[Module]) -> bool:
    """Whether some modules switch eager execution on."""
    return any(word in module.source.text for module in modules for word in _EAGER)


def _is_within(sign: Sign, definitions: set[int]) -> bool:
    here: ast.AST | None = sign.use.node
    while here is not None:
        if id(here) in definitions:
            return True
        here = sign.module.parent(here)
    return False


def _signs_of_v2(module: Module, *, structure: bool) -> Iterator[Use]:
    for use in certain_uses(module):
        if is_v2_name(use.path) or (structure and use.path in _EAGER_ONLY):
            yield use


def _in_v2(path: str) -> str:
    """Return what a name of TensorFlow 1 is called in TensorFlow 2; empty if that is not known."""
    return RENAMED.get(path) or (f"compat.v1.{path}" if path in KEPT else "")
