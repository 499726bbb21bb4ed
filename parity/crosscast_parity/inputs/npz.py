"""Write arrays of any names to an npz file."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np


def save_npz(path: Path | str, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays by name; `numpy.savez` has parameters of its own that names could be."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.save(member, array, allow_pickle=False)
