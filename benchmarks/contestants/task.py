"""What every contestant of a process shares: data, order, weights, constants, the model."""

from __future__ import annotations

import importlib.util
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from contestants.lane import Lane
from crosscast_parity.inside.emitted import offered


def load_module(path: Path, name: str) -> ModuleType:
    """Import a file under a name of its own, without running its main part."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is not a Python script")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@dataclass
class Task:
    """One framework's part of a benchmark; `folder` holds what `step_time.py` prepared."""

    framework: str
    precision: str
    folder: Path
    device: str = "cpu"
    """`cpu` or `gpu`, as the scripts call it; only PyTorch's contestants know a GPU."""
    windows: int = 1000
    """Windows that a loop which must know it at its start prepares for."""
    script: ModuleType = field(init=False)
    """The emitted train.py; its constants, its model and its data order are everybody's."""

    _copies: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        # train.py imports its model and its runtime; those of all forms are the same.
        sys.path.insert(0, str(self.folder / f"{self.framework}-script"))
        self.script = self.load("script")
        self.offered("select_device")(
            Namespace(device=self.device, threads=1), self.script.SETTINGS
        )

    def offered(self, name: str) -> Any:
        """Return a function of the script's runtime."""
        return offered(self.script, name)

    def load(self, form: str) -> ModuleType:
        """Return a new copy of what was emitted in a form: `script`, `compiled` or `step`."""
        folder = self.folder / f"{self.framework}-{form}"
        name = "step" if form == "step" else "train"
        self._copies += 1
        return load_module(folder / f"{name}.py", f"{name}_{self._copies}")

    @property
    def train(self) -> Path:
        """The training rows, npz."""
        return self.folder / "train.npz"

    @property
    def weights(self) -> Path:
        """The initial weights, safetensors."""
        return self.folder / "weights.safetensors"

    @property
    def torch_device(self) -> str:
        """What PyTorch calls the device."""
        return "cuda" if self.device == "gpu" else "cpu"

    @property
    def accumulation(self) -> int:
        """Micro-batches of a window."""
        return int(self.script.SETTINGS.accumulation_steps)

    @property
    def half(self) -> str:
        """`float16` or `bfloat16`, empty in float32."""
        return "" if self.precision == "float32" else self.precision

    @cached_property
    def rows(self) -> dict[str, np.ndarray]:
        """The training rows by input name, and `labels`."""
        rows: dict[str, np.ndarray] = self.offered("read_rows")(self.train, self.script.SETTINGS)
        return rows

    def order(self) -> Iterator[np.ndarray]:
        """Yield the row numbers of every window for ever, [micro-batches, rows]."""
        settings, epoch = self.script.SETTINGS, 0
        shape = (-1, self.accumulation, settings.micro_batch_size)
        epoch_order = self.offered("epoch_order")
        while True:
            order = epoch_order(len(self.rows["labels"]), epoch, settings.seed)
            yield from order.reshape(shape)
            epoch += 1

    def model(self) -> Any:
        """Return the emitted model with the initial weights, for training."""
        if hasattr(self.script, "DTYPE_POLICY"):  # Keras keeps it per thread
            import keras

            keras.config.set_dtype_policy(self.script.DTYPE_POLICY)
        model = self.script.build_model()
        state = SimpleNamespace(model=model, optimizer=None)
        self.offered("load_weights")(self.weights, state, self.script.SETTINGS)
        return model

    def state(self) -> Any:
        """Return JAX' state of the emitted script, with the initial weights."""
        from flax import nnx

        state = self.script.start(nnx.jit(self.script.build_model)(nnx.Rngs(0)))
        self.offered("load_weights")(self.weights, state, self.script.SETTINGS)
        return state

    def weights_of(self, model: Any) -> dict[str, np.ndarray]:
        """Return copies of the weights by canonical name; JAX has them in the state."""
        state = model if self.framework == "jax" else SimpleNamespace(model=model, optimizer=None)
        arrays = self.offered("model_arrays")(state)
        return {name: np.array(array) for name, array in arrays.items()}

    def dense_type(self, model: Any) -> Callable[[], str]:
        """Return a function that tells in which type the first dense layer computed first."""
        if self.framework == "tensorflow":
            return lambda: str(model.encoder[0].query.compute_dtype)
        if self.framework == "jax":
            return lambda: _computes_in(model)
        layer, seen = model.bert.encoder["layer"][0].attention["self"].query, []

        def note(layer: Any, inputs: Any, output: Any) -> None:
            seen.append(str(output.dtype).rpartition(".")[2].lower())
            hook.remove()  # it would cost time

        on = "forward_hook" if self.framework == "torch" else "forward_post_hook"
        hook = getattr(layer, f"register_{on}")(note)
        return lambda: seen[0]

    def describe_state(self, lane: Lane, state: Any, losses: Sequence[Any]) -> None:
        """Describe a loop of JAX, whose weights are those of `state` after every window."""
        lane.describe(
            losses=lambda: [float(loss) for loss in losses],
            weights=lambda: self.weights_of(state),
            computes_in=self.dense_type(state.model),
        )

    def describe(self, lane: Lane, model: Any, losses: Sequence[Any]) -> None:
        """Describe a loop that trains `model` and appends the loss of every window to `losses`."""
        lane.describe(
            losses=lambda: [float(loss) for loss in losses],
            weights=lambda: self.weights_of(model),
            computes_in=self.dense_type(model),
        )


def _computes_in(model: Any) -> str:
    """The type in which the first dense layer of Flax computes."""
    from flax import nnx

    layers = (layer for _, layer in nnx.iter_modules(model) if isinstance(layer, nnx.Linear))
    first = next(layers)
    return str(np.dtype(first.dtype or first.param_dtype))
