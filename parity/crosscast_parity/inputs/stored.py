"""The rows of any source as npz files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from crosscast.emit.frame import frame_of
from crosscast.emit.render import render, template_root
from crosscast.emit.runtime import row_settings
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.recipe.data import FileData, ImageData, SyntheticData
from crosscast.recipe.document import CustomModel, Recipe

SCRIPT_TYPES = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float32}
"""Emitted scripts pass every array to the model in one of these types."""
MODULES = ("__init__", "settings", "arrays", "formats", "sources")
"""Modules of an emitted runtime that read rows."""
PROGRAM = '''\
"""Read rows and write them: `read.py SPLIT COUNT WAY SETTINGS FOLDERS`, the settings as JSON."""

import importlib
import json
import sys
import zipfile
from pathlib import Path

import numpy as np

here = Path(__file__).parent
sys.path[:0] = [str(here), "."]
sys.path += sys.argv[5:]
from runtime.settings import Settings, Stop
from runtime.sources import open_rows

split, count, told = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[4])
source = told[split]
if told.get("source") == "custom":
    module, _, name = source.partition(":")
    source = getattr(importlib.import_module(module), name)
try:
    rows = open_rows(source, Settings(**told), here)
    number = min(count, len(rows)) if count else len(rows)
    last = len(rows) - 1 if sys.argv[3] == "evenly" else number - 1
    numbers = np.linspace(0, last, number).astype(np.int64)
    with zipfile.ZipFile(here / f"{split}.npz", "w") as archive:
        for name, array in rows.rows(numbers).items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
except Stop as stop:
    sys.exit(str(stop))
'''


def _beside_scripts(recipe: Recipe, folder: Path) -> list[str]:
    """Return the folders of the targets that a migration wrote modules of rows to."""
    names = recipe.model.factory if isinstance(recipe.model, CustomModel) else ()
    return [str(folder / name) for name in names if (folder / name).is_dir()]


def stored_rows(
    recipe: Recipe,
    split: str,
    folder: Path,
    *,
    beside: Path = Path(),
    count: int = 0,
    evenly: bool = False,
) -> Path:
    """Return an npz file with the rows of a recipe whose data are not synthetic.

    npz files are used where they are. Other rows are read as an emitted script reads them, in a
    process of its own, which calls the user's function if the source is `custom`.

    Args:
        recipe: The recipe.
        split: `train` or `eval`.
        folder: Where the file is written.
        beside: What the paths and modules of the recipe are relative to.
        count: How many rows, the first ones; 0 for all.
        evenly: Whether so many are taken evenly from all instead; not from npz files.

    Raises:
        DiagnosticError: CC601 if there is no such file, CC602 if the rows cannot be read.
    """
    data = recipe.data
    assert not isinstance(data, SyntheticData)
    if isinstance(data, FileData | ImageData):
        path: Path = (beside / getattr(data, split)).absolute()
        if not path.exists():
            raise DiagnosticError(Diagnostic(code="CC601", message=f"{path}: no such file"))
        if data.source == "npz":
            return path
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "runtime").mkdir(exist_ok=True)
    for name in MODULES:
        text = render(template_root(), f"_shared/runtime/{name}.py.j2", {"spelling": None})
        (folder / "runtime" / f"{name}.py").write_text(text, encoding="utf-8")
    program = folder / "read.py"
    program.write_text(PROGRAM, encoding="utf-8")
    settings, way = json.dumps(_settings(recipe)), "evenly" if evenly else "first"
    process = subprocess.run(
        [
            sys.executable,
            str(program.absolute()),
            split,
            str(count),
            way,
            settings,
            *_beside_scripts(recipe, beside.absolute()),
        ],
        cwd=beside.absolute(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if process.returncode:
        raise DiagnosticError(
            Diagnostic(
                code="CC602",
                path=f"data.{split}",
                message=f"the rows cannot be read: {process.stderr.strip()}",
            )
        )
    return (folder / f"{split}.npz").absolute()


def row_files(recipe: Recipe, beside: Path) -> list[Path]:
    """Return the files and folders of the rows that a recipe names; a custom source has none."""
    data = recipe.data
    if not isinstance(data, FileData | ImageData):
        return []
    return [beside / getattr(data, split) for split in ("train", "eval")]


def _settings(recipe: Recipe) -> dict[str, Any]:
    """Return the settings for reading rows, and stand-ins for the rest of the settings."""
    text = dict.fromkeys(("recipe", "made_for", "output"), "")
    numbers = dict.fromkeys(("seed", "micro_batch_size", "accumulation_steps", "windows"), 1)
    stand_ins = text | numbers | {"since": (0, 0), "checkpoint_every": 1}
    return stand_ins | row_settings(frame_of(recipe), recipe.accumulation.normalize_by)
