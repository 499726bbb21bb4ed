"""CM216: imports from the private tensorflow.python.keras."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_migrate.codemod import Codemod, Example, Outcome
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.migration.experimental.keras.policies import Outcomes
from crosscast_tensorflow.migration.experimental.keras_names.outcomes import outcomes_of
from crosscast_tensorflow.migration.experimental.keras_names.private import private_imports
from crosscast_tensorflow.migration.experimental.keras_names.scope import stays_as_it_is


def run(subject: Subject) -> Iterator[Outcome]:
    """Change the imports of every module."""
    if stays_as_it_is(subject.program):
        return
    for module in subject.program.modules:
        out = Outcomes()
        private_imports(module, out)
        yield from outcomes_of(module, out, "the public names of Keras")


_BEFORE = """\
import tensorflow.python.keras.backend as K
from tensorflow.python.keras.layers.core import Dense
from tensorflow.python.keras.activations import relu, sigmoid as squash
"""
_AFTER = """\
from tensorflow.keras import backend as K
from tensorflow.keras.layers import Dense
from tensorflow.keras.activations import relu, sigmoid as squash
"""
_OTHER = "from tensorflow.keras.layers import Dense\nfrom tensorflow.python.ops import math_ops\n"
_PRIVATE = "from tensorflow.python.keras.engine import data_adapter\n"

CODEMOD = Codemod(
    code="CM216",
    name="keras-private-names",
    api="keras3",
    title="Imports from the private tensorflow.python.keras become imports from tensorflow.keras",
    hints=("tensorflow",),
    examples=(
        Example(before=_BEFORE, after=_AFTER),
        Example(before=_OTHER, after=_OTHER),
        Example(before=_PRIVATE, after=_PRIVATE, refused="is a private copy of Keras 2"),
    ),
    run=run,
)
