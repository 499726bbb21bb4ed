"""gpt: training for JAX 0.9 or newer (Flax NNX).

Written by crosscast 0.1.0 from recipe 57302b084b55a191.
Edit freely: nothing here imports crosscast.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

# isort: split
from data import eval_rows, train_rows
from model_jax import build_model
from runtime.run import Run, run_training
from runtime.settings import Settings, Stop
from runtime.state import check_model, named_parameters, reseeded

ACCUMULATION_STEPS = 2
LEARNING_RATE = 0.001
END_LEARNING_RATE = 0.0001
WARMUP_STEPS = 20
TOTAL_STEPS = 300
BETAS = (0.9, 0.999)
EPS = 1e-08
WEIGHT_DECAY = 0.1
GROUPS = ((("*positions*",), 1.0, 0.0),)
MAX_NORM = 1.0
CLIP_EPS = 1e-06
INIT_SCALE = 65536.0
GROWTH_FACTOR = 2.0
BACKOFF_FACTOR = 0.5
GROWTH_INTERVAL = 100  # clean steps before the scale grows
MIN_SCALE = 1.0
HALF = jnp.float16
HALF_LAYERS = (
    nnx.Conv,
    nnx.ConvTranspose,
    nnx.Einsum,
    nnx.GRUCell,
    nnx.Linear,
    nnx.LinearGeneral,
    nnx.LoRA,
    nnx.LSTMCell,
    nnx.MultiHeadAttention,
    nnx.OptimizedLSTMCell,
)
SETTINGS = Settings(
    recipe="57302b084b55a191",
    made_for="JAX 0.9 or newer (Flax NNX)",
    since=(0, 9),
    train=train_rows,
    eval=eval_rows,
    source="custom",
    output="runs/gpt-jax",
    seed=18,
    micro_batch_size=16,
    accumulation_steps=ACCUMULATION_STEPS,
    windows=300,
    checkpoint_every=30,
    unlabelled=True,
    slots=("exp_avg", "exp_avg_sq"),
    scale=(MIN_SCALE, float("inf")),
    counts=(100, 1),
)


def row_losses(
    model: nnx.Module, batch: dict[str, jax.Array]
) -> tuple[jax.Array, jax.Array]:
    """Cross-entropy of every label, in float32, and whether the answer is right."""
    inputs = {name: array for name, array in batch.items() if name != "labels"}
    logits = model(**inputs).astype(jnp.float32)
    labels = batch["labels"].astype(jnp.int32)
    known = labels != -100
    some = jnp.where(known, labels, 0)
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, some)
    losses = jnp.where(known, losses, 0.0)
    return losses, jnp.argmax(logits, axis=-1) == labels


def micro_batch_loss(model: nnx.Module, batch: dict[str, jax.Array]) -> jax.Array:
    """Summed cross-entropy of the labels that are not -100."""
    losses, _ = row_losses(model, batch)
    return losses.sum()


LossFunction = Callable[[nnx.Module, dict[str, jax.Array]], jax.Array]


@dataclass
class LossScale:
    """The dynamic loss scale; counts clean steps in a row."""

    scale: float = INIT_SCALE
    good: int = 0

    def adjust(self, skipped: bool) -> float:
        """Take note of one optimizer step; return the scale of the next window."""
        if skipped:
            self.good = 0
            self.scale = max(float32(self.scale * BACKOFF_FACTOR), MIN_SCALE)
        else:
            self.good += 1
            if self.good >= GROWTH_INTERVAL:
                self.good = 0
                grown = float32(self.scale * GROWTH_FACTOR)
                if math.isfinite(grown):
                    self.scale = grown
        return self.scale


def float32(value: float) -> float:
    """Round to the type in which the framework keeps the scale."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))


@jax.tree_util.register_dataclass
@dataclass
class Arrays:
    """What a window changes on the device."""

    weights: nnx.State
    rest: nnx.State  # of the model: running statistics, random numbers
    optimizer: optax.OptState


@dataclass
class TrainState:
    """What a window reads and changes; a checkpoint holds all of it."""

    graph: nnx.GraphDef
    optimizer: optax.GradientTransformation
    arrays: Arrays
    loss_scale: LossScale = field(default_factory=LossScale)
    windows: int = 0
    updates: int = 0

    @property
    def model(self) -> nnx.Module:
        """The model with its present weights."""
        return nnx.merge(self.graph, self.arrays.weights, self.arrays.rest)


def learning_rate(position: int) -> float:
    """Rate of one optimizer step; `position` counts from 0."""
    if position < WARMUP_STEPS:
        return LEARNING_RATE * position / WARMUP_STEPS
    progress = min(1.0, (position - WARMUP_STEPS) / (TOTAL_STEPS - WARMUP_STEPS))
    remaining = 0.5 * (1.0 + math.cos(math.pi * progress))
    return END_LEARNING_RATE + (LEARNING_RATE - END_LEARNING_RATE) * remaining


def path_of(keys: tuple[Any, ...]) -> tuple[str | int, ...]:
    """Path of a weight in the model; the last key is the value of the variable."""
    return tuple(key.key for key in keys[:-1])


def decays(model: nnx.Module) -> nnx.State:
    """Tell of every weight whether weight decay applies to it."""
    modules = dict(nnx.iter_modules(model))

    def applies(keys: tuple[Any, ...], _: jax.Array) -> bool:
        path = path_of(keys)
        if path[-1] == "bias":
            return False
        spared = (nnx.LayerNorm, nnx.RMSNorm)
        return not isinstance(modules[path[:-1]], spared)

    weights = nnx.state(model, nnx.Param)
    return jax.tree_util.tree_map_with_path(applies, weights)


def settings(model: nnx.Module) -> tuple[nnx.State, nnx.State]:
    """Factors of the learning rate and weight decays: those of the first group that fits."""
    paths = nnx.to_flat_state(nnx.state(model, nnx.Param)).paths
    names = dict(zip(paths, named_parameters(model), strict=True))
    usual = jax.tree.map(lambda yes: WEIGHT_DECAY if yes else 0.0, decays(model))

    def chosen(keys: tuple[Any, ...], decay: float) -> tuple[float, float]:
        for patterns, factor, own in GROUPS:
            if any(fnmatchcase(names[path_of(keys)], pattern) for pattern in patterns):
                return factor, decay if own is None else own
        return 1.0, decay

    pairs = jax.tree_util.tree_map_with_path(chosen, usual)
    return jax.tree.transpose(
        jax.tree.structure(usual), jax.tree.structure((0, 0)), pairs
    )


def add_decay(amounts: nnx.State) -> optax.GradientTransformation:
    """Add weight decay, of every weight its own."""
    return optax.stateless(
        lambda updates, weights: jax.tree.map(
            lambda u, w, amount: u + amount * w, updates, weights, amounts
        )
    )


def scale_rates(factors: nnx.State) -> optax.GradientTransformation:
    """Multiply updates by factors, of every weight its own."""
    return optax.stateless(
        lambda updates, _: jax.tree.map(lambda u, f: u * f, updates, factors)
    )


def scale_by_adam() -> optax.GradientTransformation:
    """Adam's direction.

    optax.scale_by_adam rounds 1 - beta**t: early updates are off by 1e-5 (CC414).
    """

    def init(weights: nnx.State) -> optax.ScaleByAdamState:
        zeros = [jax.tree.map(jnp.zeros_like, weights) for _ in BETAS]
        return optax.ScaleByAdamState(jnp.zeros((), jnp.int32), *zeros)

    def update(
        gradients: nnx.State, state: optax.ScaleByAdamState, weights: Any = None
    ) -> tuple[nnx.State, optax.ScaleByAdamState]:
        count = state.count + 1
        mean = jax.tree.map(
            lambda m, g: BETAS[0] * m + (1.0 - BETAS[0]) * g, state.mu, gradients
        )
        square = jax.tree.map(
            lambda v, g: BETAS[1] * v + (1.0 - BETAS[1]) * g * g, state.nu, gradients
        )
        correction, second = (-jnp.expm1(count * math.log(beta)) for beta in BETAS)
        root_correction = jnp.sqrt(second)

        def direction(m: jax.Array, v: jax.Array) -> jax.Array:
            return m / correction / (jnp.sqrt(v) / root_correction + EPS)

        directions = jax.tree.map(direction, mean, square)
        return directions, optax.ScaleByAdamState(count, mean, square)

    return optax.GradientTransformation(init, update)


def make_optimizer(model: nnx.Module) -> optax.GradientTransformation:
    """AdamW. Rate and weight decay of each weight are those of `settings`."""
    _, amounts = settings(model)
    return optax.chain(
        scale_by_adam(),
        add_decay(amounts),
    )


def half_products(arrays: tuple[jax.Array, ...], **types: Any) -> tuple[jax.Array, ...]:
    """Numbers of a table: half for a product, as they are to be looked up."""
    return tuple(a.astype(HALF) for a in arrays) if len(arrays) > 1 else arrays


def set_types(model: nnx.Module) -> None:
    """Give layers a type that have none: JAX has no autocast (CC410)."""
    for _, layer in nnx.iter_modules(model):
        if isinstance(layer, HALF_LAYERS) and layer.dtype is None:
            layer.dtype = HALF
        if isinstance(layer, nnx.Embed) and layer.dtype == layer.param_dtype:
            layer.promote_dtype = half_products
        if isinstance(layer, nnx.bridge.ToNNX):
            linen = layer.to_nnx__module  # gives its type to its layers
            if not hasattr(linen, "dtype"):
                name = type(linen).__name__
                raise Stop("failed", 2, f"{name}, of Linen, needs a field dtype")
            if linen.dtype is None:
                layer.to_nnx__module = linen.clone(dtype=HALF)


def start(model: nnx.Module) -> TrainState:
    """Take a model apart into what is compiled once and what changes."""
    model.train()
    set_types(model)
    optimizer = make_optimizer(model)
    graph, weights, rest = nnx.split(model, nnx.Param, ...)
    arrays = Arrays(weights, rest, optimizer.init(weights))
    return TrainState(graph, optimizer, arrays)


def micro_step(
    graph: nnx.GraphDef,
    loss_fn: LossFunction,
    weights: nnx.State,
    sums: tuple[nnx.State, nnx.State, jax.Array],
    batch: dict[str, jax.Array],
    numbers: dict[str, jax.Array],
) -> tuple[nnx.State, nnx.State, jax.Array]:
    """Add the gradients and the loss of one micro-batch to those of the window."""
    rest, totals, window_loss = sums

    def forward(weights: nnx.State) -> tuple[jax.Array, tuple[jax.Array, nnx.State]]:
        model = nnx.merge(graph, weights, rest, copy=True)
        loss = loss_fn(model, batch)
        loss = loss / numbers["divisor"]
        scaled_loss = loss * numbers["scale"]
        return scaled_loss, (loss, nnx.state(model, nnx.Not(nnx.Param)))

    gradients, (loss, rest) = jax.grad(forward, has_aux=True)(weights)
    # Not optax.MultiSteps, which multiplies by 0 what it leaves out: 0 * inf is nan.
    totals = jax.tree.map(jnp.add, totals, gradients)
    return rest, totals, window_loss + loss


def window_step(
    graph: nnx.GraphDef,
    optimizer: optax.GradientTransformation,
    arrays: Arrays,
    sums: tuple[nnx.State, nnx.State, jax.Array],
    numbers: dict[str, jax.Array],
) -> tuple[Arrays, dict[str, jax.Array]]:
    """Make one optimizer step; return norm and finiteness of the gradients, too."""
    rest, gradients, window_loss = sums
    gradients = jax.tree.map(lambda g: g / numbers["scale"], gradients)
    finite = jax.tree.reduce(
        jnp.logical_and, jax.tree.map(lambda g: jnp.isfinite(g).all(), gradients)
    )
    grad_norm = optax.tree.norm(gradients)
    # Not clip_by_global_norm, which has no epsilon (CC413).
    coefficient = jnp.minimum(1.0, MAX_NORM / (grad_norm + CLIP_EPS))
    gradients = jax.tree.map(lambda g: g * coefficient, gradients)
    updates, moments = optimizer.update(gradients, arrays.optimizer, arrays.weights)
    updates = jax.tree.map(lambda update: -numbers["rate"] * update, updates)
    weights = optax.apply_updates(arrays.weights, updates)
    # A skipped step leaves weights and optimizer as they are (CC411).
    old = arrays.weights, arrays.optimizer
    weights, moments = jax.tree.map(partial(jnp.where, finite), (weights, moments), old)
    arrays = Arrays(weights, rest, moments)
    # The sums of the next window start at zero.
    return arrays, {"loss": window_loss, "grad_norm": grad_norm, "skipped": ~finite}


def empty_sums(
    graph: nnx.GraphDef, arrays: Arrays, numbers: dict[str, jax.Array]
) -> tuple[nnx.State, nnx.State, jax.Array]:
    """What the model holds besides its weights, and no gradients and no loss yet."""
    # Dropout masks do not depend on when a run was resumed.
    rest = reseeded(arrays.rest, SETTINGS.seed, numbers["window"])
    return rest, jax.tree.map(jnp.zeros_like, arrays.weights), jnp.zeros(())


@partial(jax.jit, static_argnums=(0, 1, 2), donate_argnums=3)
def full_window(
    graph: nnx.GraphDef,
    optimizer: optax.GradientTransformation,
    loss_fn: LossFunction,
    arrays: Arrays,
    micro_batches: dict[str, jax.Array],
    numbers: dict[str, jax.Array],
) -> tuple[Arrays, dict[str, jax.Array]]:
    """Do all that a full window does in one call, from its micro-batches stacked."""
    weights = arrays.weights

    def add(
        sums: tuple[nnx.State, nnx.State, jax.Array], batch: dict[str, jax.Array]
    ) -> tuple[tuple[nnx.State, nnx.State, jax.Array], None]:
        return micro_step(graph, loss_fn, weights, sums, batch, numbers), None

    sums, _ = jax.lax.scan(add, empty_sums(graph, arrays, numbers), micro_batches)
    return window_step(graph, optimizer, arrays, sums, numbers)


# A short window has any number and size of micro-batches.
begin_window = jax.jit(empty_sums, static_argnums=0)
add_micro_batch = jax.jit(micro_step, static_argnums=(0, 1), donate_argnums=3)
end_window = jax.jit(window_step, static_argnums=(0, 1), donate_argnums=2)


def train_window(
    state: TrainState, micro_batches: Sequence[dict[str, Any]], loss_fn: LossFunction
) -> dict[str, Any]:
    """Make one optimizer step from the window's micro-batches; return its trace row."""
    lr = learning_rate(state.updates)
    scale = state.loss_scale.scale
    rows = sum(len(batch["labels"]) for batch in micro_batches)
    n_micro = len(micro_batches)
    tokens = sum(int((batch["labels"] != -100).sum()) for batch in micro_batches)
    numbers = {
        "divisor": np.float32(max(1, tokens)),
        "rate": np.float32(lr),
        "scale": np.float32(scale),
        "window": np.int32(state.windows),
    }
    shapes = [{name: a.shape for name, a in b.items()} for b in micro_batches]
    if shapes == shapes[:1] * ACCUMULATION_STEPS:
        stacked = {n: np.stack([b[n] for b in micro_batches]) for n in shapes[0]}
        state.arrays, result = full_window(
            state.graph, state.optimizer, loss_fn, state.arrays, stacked, numbers
        )
    else:
        sums = begin_window(state.graph, state.arrays, numbers)
        weights = state.arrays.weights
        for batch in micro_batches:
            sums = add_micro_batch(state.graph, loss_fn, weights, sums, batch, numbers)
        state.arrays, result = end_window(
            state.graph, state.optimizer, state.arrays, sums, numbers
        )
    row = {name: number.item() for name, number in jax.device_get(result).items()}
    state.updates += not row["skipped"]
    state.loss_scale.adjust(row["skipped"])
    state.windows += 1
    return {
        "window": state.windows - 1,
        "n_micro": n_micro,
        "rows": rows,
        "tokens": tokens,
        "lr": lr,
        "scale": scale,
        "updates": state.updates,
    } | row


@partial(jax.jit, static_argnums=0)
def evaluate_batch(
    graph: nnx.GraphDef, arrays: Arrays, batch: dict[str, jax.Array]
) -> tuple[jax.Array, ...]:
    """Summed loss and number of right answers."""
    model = nnx.merge(graph, arrays.weights, arrays.rest)
    model.eval()
    losses, right = row_losses(model, batch)
    return losses.sum(), jnp.count_nonzero(right)


def evaluate(state: TrainState, batches: Iterable[dict[str, Any]]) -> dict[str, float]:
    """Mean loss and accuracy over all labels but -100."""
    sums, n_labels = np.zeros(2), 0
    for batch in batches:
        n_labels += int(np.count_nonzero(batch["labels"] != -100))
        sums += jax.device_get(evaluate_batch(state.graph, state.arrays, batch))
    n_labels = max(1, n_labels)
    names = ("loss", "accuracy")
    return dict(zip(names, (sums / n_labels).tolist(), strict=True))


def make_state(run: Run) -> TrainState:
    """Build everything a run starts with."""
    with jax.default_device(run.device):
        model = build_model(nnx.Rngs(SETTINGS.seed))
        check_model(model)
        return start(model)


def train(run: Run) -> dict[str, float]:
    """Train, and return the evaluation."""
    state = make_state(run)
    for micro_batches in run.windows(state):
        row = train_window(state, micro_batches, micro_batch_loss)
        run.record(state, row)
    return run.finish(state, evaluate)


def main(argv: list[str] | None = None) -> int:
    """Train as the command line says; return the exit code."""
    return run_training(SETTINGS, train, argv)


if __name__ == "__main__":
    sys.exit(main())
