"""The bugs of the catalogue in the emitted files of Paddle."""

from __future__ import annotations

from mutants.paddle_late import LATE
from mutants.paddle_model import MODEL
from mutants.paddle_products import PRODUCTS
from mutants.paddle_single import SINGLE
from mutants.paddle_update import UPDATES
from mutants.paddle_window import ACCUMULATION, CLIPPING, PRECISION, SCALING
from mutants.shared_bugs import SHARED
from mutants.shared_products import PRODUCTS as FILES
from mutants.shared_resumed import RESUMED
from mutants.spelling import written

MUTATIONS = written(
    SHARED,
    ACCUMULATION,
    SCALING,
    UPDATES,
    CLIPPING,
    MODEL,
    PRECISION,
    FILES,
    PRODUCTS,
    RESUMED,
    LATE,
    SINGLE,
)
