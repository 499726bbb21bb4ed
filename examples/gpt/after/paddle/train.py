"""gpt: training for Paddle 3.0 or newer.

Written by crosscast 0.1.0 from recipe 57302b084b55a191.
Edit freely: nothing here imports crosscast.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import paddle
from paddle import nn
from paddle.nn import functional as F

# isort: split
from data import eval_rows, train_rows
from model_paddle import build_model
from runtime.arguments import positive
from runtime.flags import LARGEST_SCALE, above_one, below_one, boolean, scale_between
from runtime.run import Run, run_training
from runtime.settings import Settings

LEARNING_RATE = 0.001
END_LEARNING_RATE = 0.0001
WARMUP_STEPS = 20
TOTAL_STEPS = 300
BETAS = (0.9, 0.999)
EPS = 1e-08
WEIGHT_DECAY = 0.1
# Patterns for parameter names, weight decay (None: the usual), factor of the rate.
GROUPS = [
    (("*positions*",), 0.0, 1.0),
]
MAX_NORM = 1.0
CLIP_EPS = 1e-06
INIT_SCALE = 65536.0
GROWTH_FACTOR = 2.0
BACKOFF_FACTOR = 0.5
GROWTH_INTERVAL = 100  # clean steps before the scale grows
HYSTERESIS = 1  # overflowed steps in a row before it backs off
MIN_SCALE = 1.0
SETTINGS = Settings(
    recipe="57302b084b55a191",
    made_for="Paddle 3.0 or newer",
    since=(3, 0),
    train=train_rows,
    eval=eval_rows,
    source="custom",
    output="runs/gpt-paddle",
    seed=18,
    micro_batch_size=16,
    accumulation_steps=2,
    windows=300,
    checkpoint_every=30,
    unlabelled=True,
    slots=("exp_avg", "exp_avg_sq"),
    betas=BETAS,
    scale=(MIN_SCALE, float("inf")),
    counts=(100, 1),
    half="float16",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of mixed precision."""
    add = parser.add_argument
    scale = scale_between(MIN_SCALE, LARGEST_SCALE)
    add("--use_fp16", type=boolean, default=True, help="false: all in float32")
    add("--use_dynamic_loss_scaling", type=boolean, default=True)
    add("--init_loss_scaling", type=scale, default=INIT_SCALE)
    add("--incr_every_n_steps", type=positive, default=GROWTH_INTERVAL)
    add("--decr_every_n_nan_or_inf", type=positive, default=HYSTERESIS)
    add("--incr_ratio", type=above_one, default=GROWTH_FACTOR)
    add("--decr_ratio", type=below_one, default=BACKOFF_FACTOR)


def micro_batch_loss(model: nn.Layer, batch: dict[str, paddle.Tensor]) -> paddle.Tensor:
    """Summed cross-entropy of the labels that are not -100, in float32."""
    inputs = {name: tensor for name, tensor in batch.items() if name != "labels"}
    labels = batch["labels"].astype("int64")
    logits = model(**inputs).astype("float32")
    return F.cross_entropy(logits, labels, reduction="sum")


LossFunction = Callable[[nn.Layer, dict[str, paddle.Tensor]], paddle.Tensor]


@dataclass
class LossScale:
    """The dynamic loss scale; counts clean and overflowed steps in a row."""

    scale: float = INIT_SCALE
    good: int = 0
    bad: int = 0
    growth_factor: float = GROWTH_FACTOR
    backoff_factor: float = BACKOFF_FACTOR
    growth_interval: int = GROWTH_INTERVAL
    hysteresis: int = HYSTERESIS

    def adjust(self, skipped: bool) -> float:
        """Take note of one optimizer step; return the scale of the next window."""
        if skipped:
            self.good, self.bad = 0, self.bad + 1
            if self.bad >= self.hysteresis:
                self.bad = 0
                self.scale = max(float32(self.scale * self.backoff_factor), MIN_SCALE)
        else:
            self.good, self.bad = self.good + 1, 0
            if self.good >= self.growth_interval:
                self.good = 0
                grown = float32(self.scale * self.growth_factor)
                if math.isfinite(grown):
                    self.scale = grown
        return self.scale


def float32(value: float) -> float:
    """Round to the type in which the framework keeps the scale."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))


@dataclass
class TrainState:
    """What a window reads and changes; a checkpoint holds all of it."""

    model: nn.Layer
    optimizer: paddle.optimizer.Optimizer
    scaler: paddle.amp.GradScaler
    loss_scale: LossScale = field(default_factory=LossScale)
    amp: bool = True  # --use_fp16
    dynamic: bool = True  # --use_dynamic_loss_scaling
    windows: int = 0
    updates: int = 0


def learning_rate(position: int) -> float:
    """Rate of one optimizer step; `position` counts from 0."""
    if position < WARMUP_STEPS:
        return LEARNING_RATE * position / WARMUP_STEPS
    progress = min(1.0, (position - WARMUP_STEPS) / (TOTAL_STEPS - WARMUP_STEPS))
    remaining = 0.5 * (1.0 + math.cos(math.pi * progress))
    return END_LEARNING_RATE + (LEARNING_RATE - END_LEARNING_RATE) * remaining


def decays(layer: nn.Layer, name: str) -> bool:
    """Whether weight decay applies to the parameter `name` of `layer`."""
    if "bias" in name.split("_"):  # bias_ih_l0 too
        return False
    return not isinstance(layer, nn.LayerNorm)


def settings(name: str, decay: float) -> tuple[float, float]:
    """Weight decay and rate factor of a parameter, by the first group that names it."""
    for patterns, own_decay, rate_factor in GROUPS:
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            return decay if own_decay is None else own_decay, rate_factor
    return decay, 1.0


def make_optimizer(model: nn.Layer) -> paddle.optimizer.Optimizer:
    """AdamW. Decoupled weight decay as GROUPS say."""
    groups: dict[tuple[float, float], list[paddle.Tensor]] = {}
    seen = set()  # a tied weight has several names: the first one counts
    for prefix, layer in model.named_sublayers(include_self=True):
        for own_name, parameter in layer.named_parameters(include_sublayers=False):
            if parameter.name in seen:
                continue
            seen.add(parameter.name)
            name = f"{prefix}.{own_name}" if prefix else own_name
            decay = WEIGHT_DECAY if decays(layer, own_name) else 0.0
            groups.setdefault(settings(name, decay), []).append(parameter)
    return paddle.optimizer.AdamW(
        learning_rate=LEARNING_RATE,
        beta1=BETAS[0],
        beta2=BETAS[1],
        epsilon=EPS,
        parameters=[
            {"params": p, "weight_decay": d, "learning_rate": f}
            for (d, f), p in groups.items()
        ],
    )


def make_scaler(enable: bool, scale: float) -> paddle.amp.GradScaler:
    """Scales and skips; LossScale decides about the scale (CC340)."""
    return paddle.amp.GradScaler(
        enable=enable,
        init_loss_scaling=scale,
        incr_every_n_steps=2**31 - 1,
        decr_every_n_nan_or_inf=2**31 - 1,
    )


@paddle.no_grad()
def global_norm(parameters: Iterable[paddle.Tensor]) -> paddle.Tensor:
    """L2 norm of all gradients together."""
    # Not clip_grad_norm_ or linalg.norm, which lose digits in large gradients (CC352).
    squares = [p.grad.square().sum() for p in parameters if p.grad is not None]
    return paddle.stack(squares).sum().sqrt()


def to_device(batch: dict[str, Any]) -> dict[str, paddle.Tensor]:
    """Copy a micro-batch to the current device."""
    return {name: paddle.to_tensor(array) for name, array in batch.items()}


def train_window(
    state: TrainState, micro_batches: Sequence[dict[str, Any]], loss_fn: LossFunction
) -> dict[str, Any]:
    """Make one optimizer step from the window's micro-batches; return its trace row."""
    model = state.model
    lr = learning_rate(state.updates)
    state.optimizer.set_lr(lr)
    rows = sum(len(batch["labels"]) for batch in micro_batches)
    n_micro = len(micro_batches)
    tokens = sum(int((batch["labels"] != -100).sum()) for batch in micro_batches)
    window_loss = paddle.zeros([])
    for batch in micro_batches:
        batch = to_device(batch)
        with paddle.amp.auto_cast(state.amp, dtype="float16", level="O1"):
            loss = loss_fn(model, batch)
        loss = loss / max(1, tokens)
        # Behind a float16 auto_cast, or the scaler turns itself off (CC341).
        scaled_loss = state.scaler.scale(loss)
        scaled_loss.backward()
        window_loss += loss.detach()
    state.scaler.unscale_(state.optimizer)
    # unscale_ has looked for inf and nan; step() does nothing when it found any.
    grad_norm = global_norm(model.parameters())
    with paddle.no_grad():
        coefficient = paddle.clip(MAX_NORM / (grad_norm + CLIP_EPS), max=1.0)
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.grad.multiply_(coefficient)
    state.scaler.step(state.optimizer)
    scale = state.scaler.get_init_loss_scaling()  # the current one
    state.scaler.update()
    # Not state_dict(), which would wait for the device to copy the scale.
    skipped = state.amp and state.scaler._decr_count > 0
    if state.dynamic:
        state.scaler.set_init_loss_scaling(state.loss_scale.adjust(skipped))
    state.updates += not skipped
    state.optimizer.clear_grad(set_to_zero=False)
    window_loss, grad_norm = paddle.stack([window_loss, grad_norm]).tolist()
    state.windows += 1
    return {
        "window": state.windows - 1,
        "n_micro": n_micro,
        "rows": rows,
        "tokens": tokens,
        "loss": window_loss,
        "lr": lr,
        "grad_norm": grad_norm,
        "scale": scale,
        "skipped": skipped,
        "updates": state.updates,
    }


@paddle.no_grad()
def evaluate(state: TrainState, batches: Iterable[dict[str, Any]]) -> dict[str, float]:
    """Mean loss and accuracy over all labels but -100."""
    model, n_labels = state.model, 0
    model.eval()
    loss, correct = paddle.zeros([], "float64"), paddle.zeros([], "int64")
    for rows in batches:
        n_labels += int((rows["labels"] != -100).sum())
        batch = to_device(rows)
        labels = batch.pop("labels").astype("int64")
        with paddle.amp.auto_cast(state.amp, dtype="float16", level="O1"):
            logits = model(**batch).astype("float32")
        loss += F.cross_entropy(logits, labels, reduction="sum").astype("float64")
        correct += (logits.argmax(-1) == labels).sum()
    model.train()
    loss, correct = paddle.stack([loss, correct.astype("float64")]).tolist()
    n_labels = max(1, n_labels)
    return {"loss": loss / n_labels, "accuracy": correct / n_labels}


def make_state(run: Run) -> TrainState:
    """Build everything a run starts with."""
    args = run.args
    paddle.seed(SETTINGS.seed)
    model = build_model()
    model.train()
    optimizer = make_optimizer(model)
    loss_scale = LossScale(
        args.init_loss_scaling,
        growth_factor=args.incr_ratio,
        backoff_factor=args.decr_ratio,
        growth_interval=args.incr_every_n_steps,
        hysteresis=args.decr_every_n_nan_or_inf,
    )
    scaler = make_scaler(args.use_fp16, args.init_loss_scaling)
    dynamic = args.use_fp16 and args.use_dynamic_loss_scaling
    return TrainState(model, optimizer, scaler, loss_scale, args.use_fp16, dynamic)


def train(run: Run) -> dict[str, float]:
    """Train, and return the evaluation."""
    state = make_state(run)
    for micro_batches in run.windows(state):
        # Dropout masks do not depend on when a run was resumed.
        paddle.seed(SETTINGS.seed + state.windows)
        row = train_window(state, micro_batches, micro_batch_loss)
        run.record(state, row)
    return run.finish(state, evaluate)


def main(argv: list[str] | None = None) -> int:
    """Train as the command line says; return the exit code."""
    return run_training(SETTINGS, train, argv, add_options)


if __name__ == "__main__":
    sys.exit(main())
