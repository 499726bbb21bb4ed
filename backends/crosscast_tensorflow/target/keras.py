"""How a generation of Keras spells what the templates print: features in, code out."""

from __future__ import annotations

from dataclasses import dataclass

from crosscast.targets.backend import Dialect


@dataclass(frozen=True, slots=True, kw_only=True)
class KerasSpelling:
    """What depends on the dialect alone."""

    keras3: bool
    """Whether it is Keras 3, not Keras 2."""
    rewrites: bool
    """Whether TensorFlow may be asked to rewrite graphs to float16."""
    decorator: str
    """Decorator of a compiled function."""

    @property
    def variable(self) -> str:
        """The class of weights."""
        return "keras.Variable" if self.keras3 else "tf.Variable"

    @property
    def name_of(self) -> str:
        """The attribute of a variable that tells it from all others."""
        return "path" if self.keras3 else "name"

    @property
    def kind_of(self) -> str:
        """What Keras calls the kind of `variable`, as code."""
        return "variable.name" if self.keras3 else "kind(variable)"

    @property
    def set_policy(self) -> str:
        """The function that sets the dtype policy."""
        if self.keras3:
            return "keras.config.set_dtype_policy"
        return "keras.mixed_precision.set_global_policy"

    @property
    def get_policy(self) -> str:
        """The function that returns the dtype policy."""
        return "keras.config.dtype_policy" if self.keras3 else "keras.mixed_precision.global_policy"


def spelling(dialect: Dialect) -> KerasSpelling:
    """Return the spelling of a dialect in the templates."""
    return KerasSpelling(
        keras3="keras3" in dialect.features,
        rewrites=dialect.name == "graph-rewrite",
        decorator=decorator(dialect, jit_compile=False),
    )


def decorator(dialect: Dialect, *, jit_compile: bool) -> str:
    """Return the decorator of a compiled function."""
    options = (
        *(("reduce_retracing=True",) if "reduce_retracing" in dialect.features else ()),
        *(("jit_compile=True",) if jit_compile else ()),
    )
    return f"@tf.function({', '.join(options)})" if options else "@tf.function"
