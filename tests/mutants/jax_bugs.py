"""The bugs of the catalogue in the emitted files of JAX."""

from __future__ import annotations

from mutants.jax_late import LATE
from mutants.jax_model import MODEL
from mutants.jax_products import PRODUCTS
from mutants.jax_single import SINGLE
from mutants.jax_update import UPDATES
from mutants.jax_window import ACCUMULATION, CLIPPING, LOSS, PRECISION, SCALING, SHARED
from mutants.shared_products import PRODUCTS as FILES
from mutants.shared_resumed import RESUMED
from mutants.spelling import written

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
