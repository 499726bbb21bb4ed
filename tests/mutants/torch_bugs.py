"""The bugs of the catalogue in the emitted files of PyTorch."""

from __future__ import annotations

from mutants.shared_bugs import SHARED
from mutants.shared_products import PRODUCTS as FILES
from mutants.shared_resumed import RESUMED
from mutants.spelling import written
from mutants.torch_late import LATE
from mutants.torch_model import MODEL
from mutants.torch_products import PRODUCTS
from mutants.torch_single import SINGLE
from mutants.torch_update import UPDATES
from mutants.torch_window import ACCUMULATION, CLIPPING, PRECISION, SCALING

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
