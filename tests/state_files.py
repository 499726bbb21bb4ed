"""Training states of a very small model, as files: sound ones, and ones made to be refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from crosscast.emit.frame import recipe_hash
from crosscast.emit.lowering import slot_names
from crosscast.plan.canonical import canonical_plan
from crosscast.recipe.bert_shapes import bert_shapes
from crosscast.recipe.document import BertModel, Recipe
from crosscast.state.slots import slot_shape
from crosscast.state.store import write_state
from crosscast.state.training_state import Scale, TrainingState
from recipe_texts import recipe_of

MODEL = (
    "{kind: bert, layers: 1, hidden_size: 4, attention_heads: 2, intermediate_size: 6, "
    "vocab_size: 7, max_positions: 5, labels: 3, dropout: 0.0}"
)
OWN = "{kind: custom, factory: {torch: 'net:make', tensorflow: 'net:make', paddle: 'net:make'}}"
DYNAMIC = "{mode: dynamic, init_scale: 1024, growth_interval: 5, hysteresis: 2, max_scale: 4096}"
HALF = "{mode: mixed, compute_dtype: float16}"


def small_recipe(**changes: str) -> Recipe:
    """A recipe of a model of 24 weights."""
    data = "{source: npz, train: t.npz, eval: e.npz, sequence_length: 5}"
    return recipe_of(**{"model": MODEL, "data": data, **changes})


def state_of(recipe: Recipe, seed: int = 0, windows: int = 8) -> TrainingState:
    """A state that fits a recipe of the shipped BERT; with a loss scale, two windows skipped."""
    assert isinstance(recipe.model, BertModel)
    rng = np.random.default_rng(seed)
    shapes = bert_shapes(recipe.model)

    def arrays(slot: str) -> dict[str, np.ndarray]:
        found: dict[str, np.ndarray] = {}
        for name, shape in shapes.items():
            if slot not in _FACTORED or (len(shape) > 1) == _FACTORED[slot]:
                values = np.abs(rng.standard_normal(slot_shape(slot, shape)))
                found[name] = values.astype(np.float32)
        return found

    scaled = recipe.scaling_on
    return TrainingState(
        recipe=recipe_hash(recipe),
        weights=arrays("weight"),
        moments={slot: arrays(slot) for slot in slot_names(canonical_plan(recipe))},
        averages=arrays("average") if recipe.ema.decay is not None else {},
        windows=windows,
        updates=windows - 2 if scaled else windows,
        scale=Scale(1024.0, 3, 1, 0) if scaled else None,
    )


_FACTORED = {"row_var": True, "col_var": True, "variance": False}
"""Whether these moments are of matrices."""


def own_state() -> TrainingState:
    """A state of a custom model, with a buffer and an average."""
    weights: dict[str, np.ndarray] = {
        "fc.weight": np.arange(6, dtype=np.float32).reshape(2, 3),
        "fc.bias": np.ones(2, np.float32),
        "steps": np.array([4], np.int64),
    }
    trained = {n: a + 1 for n, a in weights.items() if n != "steps"}
    moments = {"exp_avg": trained, "exp_avg_sq": {n: a * 2 for n, a in trained.items()}}
    averages = {n: a * 3 for n, a in trained.items()}
    return TrainingState("0" * 16, weights, moments, averages, 9, 9, None)


def saved(path: Path, state: TrainingState, **changes: Any) -> Path:
    """Write a state, changed."""
    write_state(path, replace(state, **changes))
    return path


def raw(
    path: Path,
    tensors: Mapping[str, Any] | str,
    data: bytes = b"",
    metadata: Any = None,
    length: int | None = None,
) -> Path:
    """Write a safetensors file by hand: any header, any length of it."""
    if isinstance(tensors, str):
        header = tensors.encode()
    else:
        entries = dict(tensors) | ({} if metadata is None else {"__metadata__": metadata})
        header = json.dumps(entries).encode()
    size = len(header) if length is None else length
    path.write_bytes(size.to_bytes(8, "little") + header + data)
    return path


def entry(dtype: str = "F32", shape: Any = (2,), offsets: Any = (0, 8)) -> dict[str, Any]:
    """The entry of a tensor in a header."""
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


def sections(path: Path) -> tuple[dict[str, Any], bytes]:
    """Return header and data of a file."""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header: dict[str, Any] = json.loads(content[8 : 8 + size])
    return header, content[8 + size :]
