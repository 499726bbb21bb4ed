"""Create the folders of cells with scripts, rows and weights, named by a hash of their content."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.recipe.document import BertModel, CustomModel, Data, Recipe, SyntheticData
from crosscast_parity.inputs.stored import row_files, stored_rows
from crosscast_parity.processes.run_cache import (
    content_hash,
    file_hash,
    folder_hash,
    user_folder_hash,
    versions,
)
from crosscast_parity.sweep.grid import Point
from crosscast_parity.sweep.spec import CellSpec, write_spec

CompileTo = Callable[[Recipe, Sequence[str], Path], object]
"""`compile_to(recipe, targets, directory)` writes directory/<target>/train.py and the rest."""

_UNSAFE = re.compile(r"[^A-Za-z0-9.@_-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """How every cell is trained. `windows`: None for the recipe's own number."""

    windows: int | None = None
    threads: int = 1
    device: str = "cpu"
    timeout: float | None = None
    checkpoint_every: int | None = None
    python: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A point of the grid and its folder. `eval_rows`: rows of its evaluation, if known."""

    point: Point
    folder: Path
    windows: int
    eval_rows: int | None


def prepare(
    points: Sequence[Point], folder: Path, training: Training, compile_to: CompileTo
) -> list[Cell]:
    """Write the inputs of every cell below `folder`; existing files are kept.

    Raises:
        DiagnosticError: CC733 for a recipe of several processes, CC6xx for its data, CC3xx from
            the compiler; CC729 if the folder cannot be written.
    """
    try:
        (folder / "cells").mkdir(parents=True, exist_ok=True)
        return [_prepare_one(point, folder, training, compile_to) for point in points]
    except OSError as error:
        where = error.filename or folder
        message = f"{where}: {error.strerror or error}"
        raise DiagnosticError(Diagnostic(code="CC729", message=message)) from None


def _prepare_one(point: Point, folder: Path, training: Training, compile_to: CompileTo) -> Cell:
    recipe = point.recipe
    if recipe.processes > 1:
        raise DiagnosticError(
            Diagnostic(
                code="CC733",
                path="distributed.processes_per_node",
                message=f"a cell is one process, {point.name} asks for {recipe.processes}",
                hint="set distributed.strategy: none and keep batch.global_batch_size",
            )
        )
    python = training.python.get(point.target, sys.executable)
    own = point.folder if isinstance(recipe.model, CustomModel) else None
    train, evaluation = _rows(point.base, folder / "inputs", own or Path())
    weights = _weights(recipe, folder / "inputs")
    draft = folder / "cells" / f".new-{os.getpid()}"
    shutil.rmtree(draft, ignore_errors=True)
    try:
        compile_to(recipe, (point.target,), draft)
        script = next(draft.glob("*/train.py")).parent
        shutil.rmtree(script / "__pycache__", ignore_errors=True)
        total = recipe.schedule.total_steps
        settings: dict[str, Any] = {
            "windows": min(training.windows or total, total),
            "threads": training.threads,
            "device": training.device,
        }
        key = content_hash(
            {
                "script": folder_hash(script),
                "inputs": [file_hash(path) for path in (train, evaluation, weights) if path],
                "versions": versions(python),
                **settings,
                **({"own": _code(own, point.base, folder)} if own else {}),
            }
        )
        name = _UNSAFE.sub("-", f"{point.name}.{point.target}.seed-{point.seed}.{key}")
        cell = folder / "cells" / name
        if not (cell / "script" / "train.py").exists():
            cell.mkdir(exist_ok=True)
            script.rename(cell / "script")
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    spec = CellSpec(
        python=python,
        script="script",
        train=_relative(train, cell),
        eval=_relative(evaluation, cell),
        weights=_relative(weights, cell) if weights else "",
        own=str(own) if own else "",
        timeout=training.timeout,
        checkpoint_every=training.checkpoint_every,
        **settings,
    )
    write_spec(cell, spec)
    return Cell(point=point, folder=cell, windows=settings["windows"], eval_rows=_count(evaluation))


def _relative(path: Path, cell: Path) -> str:
    """Return a path as the cell sees it: the sweep's folder may be moved, files of others not."""
    root = cell.parent.parent
    return os.path.relpath(path, cell) if path.is_relative_to(root) else str(path)


def _code(own: Path, base: Recipe, folder: Path) -> str:
    """Return the identity of the user's modules: all files beside a recipe but rows and results."""
    return user_folder_hash(own, {folder, *row_files(base, own)})


def _rows(base: Recipe, inputs: Path, beside: Path) -> tuple[Path, Path]:
    """Return the files of training and evaluation rows, the same for all seeds.

    `beside`: what the paths and modules of the recipe are relative to.
    """
    data, model = base.data, base.model
    if not isinstance(data, SyntheticData):
        folder = inputs / f"rows-{content_hash({**_section_data(data), 'beside': str(beside)})}"
        train, evaluation = (
            stored_rows(base, split, folder, beside=beside) for split in ("train", "eval")
        )
        return train, evaluation
    assert isinstance(model, BertModel)  # synthetic rows are for no other
    settings = {**_section_data(data), "vocab_size": model.vocab_size, "seed": base.seed}
    folder = inputs / f"rows-{content_hash(settings)}"
    if not (folder / "eval.npz").exists():
        from crosscast.data.synthetic import nli_synthetic

        folder.mkdir(parents=True, exist_ok=True)
        sizes = (("train", data.train_rows), ("eval", data.eval_rows))
        for split, rows in sizes:
            dataset = nli_synthetic(
                rows,
                data.sequence_length,
                model.vocab_size,
                base.seed,
                split=split,  # type: ignore[arg-type]
            )
            dataset.save(folder / f"{split}.npz", force=True)
    return folder / "train.npz", folder / "eval.npz"


def _weights(recipe: Recipe, inputs: Path) -> Path | None:
    """Return initial weights that all targets share; None for a model whose shapes are unknown."""
    model = recipe.model
    if not isinstance(model, BertModel):
        return None
    settings = {**_section_data(model), "seed": recipe.seed}
    path = inputs / f"weights-{content_hash(settings)}.safetensors"
    if not path.exists():
        from crosscast_parity.inputs.weights import bert_weights, save

        inputs.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        save(partial, bert_weights(model, recipe.seed, model.init_std))
        partial.replace(path)
    return path


def _section_data(section: BertModel | Data) -> dict[str, Any]:
    """Return a section of a recipe as plain data."""
    return section.model_dump(mode="json")


def _count(path: Path) -> int | None:
    """Return the number of rows of an npz file, None if it does not say."""
    from crosscast.data.npz import read_arrays

    try:
        return len(read_arrays(path, ("labels",))["labels"])
    except (DiagnosticError, KeyError, TypeError):
        return None
