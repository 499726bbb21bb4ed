"""The bugs of the catalogue in the emitted files of TensorFlow."""

from __future__ import annotations

from mutants.shared_bugs import SHARED
from mutants.shared_products import PRODUCTS as FILES
from mutants.shared_resumed import RESUMED
from mutants.spelling import written
from mutants.tensorflow_late import LATE
from mutants.tensorflow_model import MODEL
from mutants.tensorflow_products import PRODUCTS
from mutants.tensorflow_single import SINGLE
from mutants.tensorflow_update import UPDATES
from mutants.tensorflow_window import ACCUMULATION, CLIPPING, LOSS, PRECISION, SCALING

MUTATIONS = written(
    SHARED,
    ACCUMULATION,
    SCALING,
    UPDATES,
    CLIPPING,
    LOSS,
    MODEL,
    PRECISION,
    FILES,
    PRODUCTS,
    RESUMED,
    LATE,
    SINGLE,
)
