"""Training with Keras `fit`: accumulation, clipping and decay are arguments of the optimizer."""

from __future__ import annotations

import argparse
from typing import Any

import emitted
import keras
import tensorflow as tf
from rates import learning_rate
from runtime.rows import epoch_order


class MicroBatches(keras.utils.PyDataset):
    """The micro-batches of an epoch, in the order of emitted.py.

    `Watch` sets the epoch: Keras takes batches, and calls `on_epoch_end`, before the first one too.
    """

    def __init__(self, rows: dict[str, Any]) -> None:
        super().__init__()
        self.rows, self.epoch = rows, 0

    def __len__(self) -> int:
        return int(-(-len(self.rows["labels"]) // emitted.SETTINGS.micro_batch_size))

    def __getitem__(self, index: int) -> tuple[dict[str, Any], Any]:
        settings, n_rows = emitted.SETTINGS, len(self.rows["labels"])
        order = epoch_order(n_rows, self.epoch, settings.seed, settings.shuffle)
        first = index * settings.micro_batch_size
        chosen = order[first : first + settings.micro_batch_size]
        batch = {name: array[chosen] for name, array in self.rows.items()}
        labels = batch.pop("labels")
        return batch, labels


class Fitted(keras.Model):
    """The model, called with a dictionary as `fit` does it; logits in float32."""

    def __init__(self, inner: keras.Model) -> None:
        super().__init__(dtype="float32")
        self.inner = inner

    def call(self, inputs: dict[str, Any], training: bool = False) -> Any:
        """Return the logits."""
        return keras.ops.cast(self.inner(**inputs, training=training), "float32")


class Rates(keras.optimizers.schedules.LearningRateSchedule):
    """The recipe's rates, one for every step that Keras counts."""

    def __init__(self, count: int) -> None:
        self.rates = [learning_rate(position) for position in range(count)]

    def __call__(self, step: Any) -> Any:
        """Return the rate of a step."""
        rates = tf.constant(self.rates, tf.float32)
        return tf.gather(rates, tf.minimum(tf.cast(step, tf.int32), len(self.rates) - 1))


class Seen(keras.losses.SparseCategoricalCrossentropy):
    """The mean cross-entropy of a micro-batch; remembers the last one."""

    def __init__(self) -> None:
        super().__init__(from_logits=True, ignore_class=-100)
        self.last = tf.Variable(0.0, trainable=False)

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Return the loss."""
        loss = super().__call__(y_true, y_pred, sample_weight)
        self.last.assign(tf.cast(loss, tf.float32))
        return loss


def watch_norm(optimizer: keras.optimizers.Optimizer) -> tf.Variable:
    """Return a variable that will hold the norm of the gradients that are about to be clipped."""
    norm = tf.Variable(0.0, trainable=False)
    clip = optimizer._clip_gradients

    def clip_and_look(gradients: Any) -> Any:
        norm.assign(tf.linalg.global_norm([g for g in gradients if g is not None]))
        return clip(gradients)

    optimizer._clip_gradients = clip_and_look
    return norm


class Watch(keras.callbacks.Callback):
    """Writes the row of a window when the weights were updated, or the only micro-batch skipped."""

    def __init__(self, trace: Any, loss: Seen, norm: tf.Variable, data: MicroBatches) -> None:
        super().__init__()
        self.trace, self.seen, self.norm, self.data = trace, loss, norm, data
        self.before = (0.0, 1.0, 0)

    def _state(self) -> tuple[float, float, int]:
        """Rate, loss scale and number of updates now."""
        outer = self.model.optimizer
        scale = float(outer.dynamic_scale) if hasattr(outer, "dynamic_scale") else 1.0
        return float(outer.learning_rate), scale, int(outer.iterations)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Before an epoch."""
        self.data.epoch = epoch

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Before a micro-batch."""
        self.before = self._state()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """After a micro-batch."""
        rate, scale, updates = self.before
        size, n_rows = emitted.SETTINGS.micro_batch_size, len(self.data.rows["labels"])
        share = float(self.seen.last) / emitted.SETTINGS.accumulation_steps
        self.trace.micro_batch(share, min(size, n_rows - batch * size))
        updated = self._state()[2] > updates
        if updated or emitted.SETTINGS.accumulation_steps == 1:
            norm = float(self.norm) if updated else float("nan")
            self.trace.window(lr=rate, grad_norm=norm, scale=scale, skipped=not updated)
        self.model.stop_training = self.trace.full


def make_optimizer(args: argparse.Namespace, settings: dict[str, Any], model: Any) -> Any:
    """Return Keras' own optimizer with the recipe's numbers."""
    recipe, clipping = settings["optimizer"], settings["clipping"]
    steps = emitted.SETTINGS.accumulation_steps
    limit = {"global_norm": "global_clipnorm", "per_param_norm": "clipnorm", "value": "clipvalue"}
    common: dict[str, Any] = {"learning_rate": Rates(args.windows * steps + 1)}
    if clipping["kind"] != "none":
        common[limit[clipping["kind"]]] = clipping.get("max_norm", clipping.get("max_value"))
    if steps > 1:
        common["gradient_accumulation_steps"] = steps
    if recipe["name"] == "sgd":
        settings_of = {"momentum": recipe["momentum"], "nesterov": recipe["nesterov"]}
        return keras.optimizers.SGD(**settings_of, **common)
    betas = {"beta_1": recipe["betas"][0], "beta_2": recipe["betas"][1], "epsilon": recipe["eps"]}
    if recipe["name"] == "adam":
        return keras.optimizers.Adam(**betas, **common)
    optimizer = keras.optimizers.AdamW(weight_decay=recipe["weight_decay"], **betas, **common)
    decays = getattr(emitted, "decays", lambda variable: True)
    spared = [variable for variable in model.trainable_variables if not decays(variable)]
    if spared:
        optimizer.exclude_from_weight_decay(var_list=spared)
    return optimizer


def train(
    args: argparse.Namespace, state: Any, rows: Any, trace: Any, settings: dict[str, Any]
) -> None:
    """Train until the trace is full."""
    optimizer = make_optimizer(args, settings, state.model)
    norm, loss, data = watch_norm(optimizer), Seen(), MicroBatches(rows)
    scaling = settings["loss_scaling"]
    if scaling:
        optimizer = keras.optimizers.LossScaleOptimizer(
            optimizer,
            initial_scale=scaling["init_scale"],
            dynamic_growth_steps=scaling["growth_interval"],
        )
    model = Fitted(state.model)
    model.compile(optimizer=optimizer, loss=loss)
    micro_batches = args.windows * emitted.SETTINGS.accumulation_steps
    epochs = -(-micro_batches // len(data)) * 2  # skips take more
    watch = Watch(trace, loss, norm, data)
    model.fit(data, epochs=epochs, shuffle=False, callbacks=[watch], verbose=0)
