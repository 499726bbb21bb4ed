"""Lets a worker run an emitted step on a toy, and reads what it saw."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from crosscast.emit.compiler import of_program_model
from crosscast.recipe.document import CrossEntropy, Metrics, Recipe
from crosscast_parity.toy.compare import Seen
from crosscast_parity.toy.model import Toy
from crosscast_parity.toy.worker import TIMEOUT, Worker, WorkerFailure


def of_step(recipe: Recipe) -> Recipe:
    """Return the recipe without what is about model, loss and evaluation: a step refuses it
    (CC212)."""
    recipe = of_program_model(recipe)
    overrides = {
        name: {key: value for key, value in settings.items() if key != "compile"}
        for name, settings in recipe.overrides.items()
    }
    changes = {
        "loss": CrossEntropy(),
        "metrics": Metrics(),
        "activation_checkpointing": False,
        "overrides": overrides,
    }
    return recipe.without_tracking().model_copy(update=changes)


def run_text(worker: Worker, text: str, toy: Toy) -> Seen:
    """Run the text of an emitted step and return what the worker saw.

    Raises:
        WorkerFailure: The step raised, or the worker is gone.
    """
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root) / "case"
        folder.mkdir()
        (folder / "step.py").write_text(text)
        send(worker, folder, toy)
        return receive(worker, folder)[0]


def send(worker: Worker, folder: Path, toy: Toy) -> None:
    """Hand over `step.py` in a folder with a toy; `receive` must follow."""
    toy.save(folder)
    worker.send({"action": "windows", "folder": str(folder.absolute())})


def receive(worker: Worker, folder: Path, timeout: float = TIMEOUT) -> tuple[Seen, float]:
    """Return the worker's record of the step that it was sent, and the seconds it took.

    Raises:
        WorkerFailure: The step raised, or the worker is gone.
    """
    answer: Mapping[str, Any] = worker.receive(timeout)
    if "error" in answer:
        raise WorkerFailure("the step raised", answer["error"])
    return read_seen(folder, answer), answer["seconds"]


def read_seen(folder: Path, answer: Mapping[str, Any]) -> Seen:
    """Return the record of a run whose rows, counters and names `answer` holds.

    Raises:
        OSError, KeyError, TypeError, ValueError: it is not what `inside.toy` writes.
    """
    tensors: list[dict[str, np.ndarray]] = [{} for _ in answer["rows"]]
    with np.load(folder / "steps.npz", allow_pickle=False) as file:
        arrays = {key: file[key] for key in file.files}
    for key in [key for key in arrays if f"windows/{key}" in arrays]:
        for number, array in zip(arrays[f"windows/{key}"], arrays[key], strict=True):
            tensors[int(number)][key] = array
    counters = [(good, bad) for good, bad in answer["counters"]]
    return Seen(answer["rows"], counters, tensors, answer["names"], answer["float32_betas"])
