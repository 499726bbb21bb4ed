"""WordPiece with a user's `vocab.txt`, through the `tokenizers` package."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import batched
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from crosscast.data.npz import Dataset
from crosscast.data.pairs import Pair
from crosscast.diagnostics import Collector, Diagnostic, DiagnosticError, Span

if TYPE_CHECKING:
    import numpy.typing as npt
