"""The toy in a framework's process: reads it, lets a step train it, writes what every window left.

A step stands in a text of its own (`toy_worker`) or in a whole training script, whose `main` then
trains the toy instead of its model and rows (`install`). The folder with `toy.npz` is what
`crosscast_parity.toy.model` wrote. This runs in whatever Python (3.9 or newer) and NumPy the
framework's version needs, so it imports nothing of crosscast.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from crosscast_parity.inside.emitted import UNSCALED, offered
from crosscast_parity.inside.modules import module_of

Arrays = dict[str, np.ndarray]

NAMES = {
    "kernel": "dense.weight",
    "bias": "shift.bias",
    "gamma": "norm.weight",
    "beta": "norm.bias",
    "embeddings": "table.weight",
}
"""The toy's parameters and what they are called in models of torch and Paddle."""


FUNCTIONS = ("build_model", "main", "make_state", "train", "train_window")
FACTS = ("SETTINGS", "run_training")
"""What only scripts have that were compiled from a recipe; others may mean something else by a loss
function or by a window."""
FOLDER = "steps"


class Toy(NamedTuple):
    """What `toy.model` wrote: starting weights and the micro-batches by window."""

    dtype: str
    """In which the model computes."""
    weights: str
    """In which the model holds its weights, but for those of its normalization layer."""
    start: Arrays
    windows: list[list[Arrays]]


class Session(NamedTuple):
    """An emitted step at work: its state, and how to look at it from outside."""

    state: Any
    loss: Callable[..., Any]
    tensors: Callable[[], Arrays]
    """Parameters, moments and averages by `slot/parameter`; copies."""
    counters: Callable[[], tuple[int | None, int | None]]
    """Clean and overflowed attempts that the scaler has counted, None where it does not tell."""
    names: dict[str, str]
    """What the framework calls the parameters of the toy."""
    float32_betas: bool = False
    """Whether optimizers hold the betas in float32 where this runs."""


def load_toy(folder: Path) -> Toy:
    """Read `toy.npz`."""
    with np.load(folder / "toy.npz", allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    dtype, weights = str(arrays.pop("dtype")), str(arrays.pop("weights"))
    sizes, rows, labels = (arrays.pop(name) for name in ("sizes", "rows", "labels"))
    start = {key[6:]: arrays.pop(key) for key in list(arrays) if key.startswith("start/")}
    parts = zip(*arrays.values(), np.split(labels, np.cumsum(rows)[:-1]))  # noqa: B905
    batches = (dict(zip((*arrays, "labels"), part)) for part in parts)  # noqa: B905
    return Toy(dtype, weights, start, [list(itertools.islice(batches, n)) for n in sizes])


def run_windows(step: Any, session: Session, toy: Toy, folder: Path) -> dict[str, Any]:
    """Train all windows of the toy.

    `steps.npz` gets what every window left: by `slot/parameter` the arrays of all windows that had
    it, and by `windows/slot/parameter` which ones these are.
    """
    rows, counters = [], []
    arrays: dict[str, list[np.ndarray]] = {}
    numbers: dict[str, list[int]] = {}
    for number, window in enumerate(toy.windows):
        rows.append({**UNSCALED, **step.train_window(session.state, window, session.loss)})
        counters.append(session.counters())
        for key, array in session.tensors().items():
            arrays.setdefault(key, []).append(array)
            numbers.setdefault(key, []).append(number)
    written: dict[str, Any] = {key: np.stack(held) for key, held in arrays.items()}
    written.update({f"windows/{key}": np.array(values) for key, values in numbers.items()})
    np.savez(folder / "steps.npz", **written)
    facts = {"names": session.names, "float32_betas": session.float32_betas}
    return {"rows": rows, "counters": counters, **facts}


def lacking(inside: str, module: Any) -> str:
    """Say why the toy cannot be trained by a script; empty if it can."""
    try:
        toy = module_of(inside, "toy")
    except ImportError as error:
        return f"the toy cannot be loaded in its interpreter: {error}"
    if toy is None:
        return "the toy is not there for its framework"
    missing = [name for name in (*FUNCTIONS, *FACTS) if not hasattr(module, name)]
    return f"the toy needs {', '.join(missing)} in the script" if missing else ""


def install(inside: str, module: Any, folder: Path) -> None:
    """Let the `main` of a script train the toy of a folder: a model and rows of another kind.

    All else is the script's own: its state, its device, its `train_window`, its status at the end.
    """
    backend, toy = module_of(inside, "toy"), load_toy(folder)

    def train(run: Any) -> dict[str, float]:
        run.state = state = module.make_state(run)
        output = run.args.output
        toy_folder = output / FOLDER
        toy_folder.mkdir(exist_ok=True)
        answer = run_windows(module, backend.watch(state, toy), toy, toy_folder)
        (toy_folder / "steps.json").write_text(json.dumps(plain(answer)))
        finite = offered(module, "finite")
        lines = [json.dumps(finite(row)) + "\n" for row in answer["rows"]]
        (output / "trace.jsonl").write_text("".join(lines))
        return {}

    module.train = train
    module.build_model = lambda *arguments: backend.make_model(toy)
    if hasattr(backend, "named_parameters"):
        module.named_parameters = backend.named_parameters


def plain(value: Any) -> Any:
    """Return rows as JSON can hold them; nan and infinities become text."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return value


def fitting(kind: Callable[..., Any], offered: dict[str, Any]) -> Any:
    """Call a dataclass with those of the offered values that it has a field for."""
    fields = kind.__dataclass_fields__  # type: ignore[attr-defined]
    return kind(**{name: value for name, value in offered.items() if name in fields})
