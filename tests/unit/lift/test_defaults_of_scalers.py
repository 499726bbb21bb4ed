"""The defaults of a loss scale are those of the function or class that the source calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lift.analysis import analyse
from crosscast_reading.lift.drafting import Lifted, lift
from crosscast_reading.lift.recipe_diff import differences, side_of, side_of_lifted
from crosscast_reading.lift.recipe_draft import Filled

DYNAMIC = """\
import paddle
import paddle.fluid as fluid

model = paddle.nn.Linear(128, 4)
optimizer = paddle.optimizer.Momentum(0.05, parameters=model.parameters())
scaler = {scaler}(init_loss_scaling=1024)
for inputs, labels in batches():
    with paddle.amp.auto_cast():
        loss = paddle.nn.functional.cross_entropy(model(inputs), labels)
    scaled = scaler.scale(loss)
    scaled.backward()
    scaler.minimize(optimizer, scaled)
    model.clear_gradients()
"""
STATIC = """\
import paddle
import paddle.fluid as fluid

paddle.enable_static()
inputs = paddle.static.data("inputs", [32, 128])
loss = paddle.mean(paddle.static.nn.fc(inputs, 4))
optimizer = paddle.optimizer.Momentum(0.05)
optimizer = {decorate}
optimizer.minimize(loss)
executor = paddle.static.Executor(paddle.CUDAPlace(0))
executor.run(feed=batch, fetch_list=[loss])
"""
FLUID = "fluid.contrib.mixed_precision.decorate(optimizer)"
NAMES = ("init_scale", "growth_interval", "backoff_factor", "hysteresis")


def lifted(text: str, *others: Source) -> Lifted:
    return lift(analyse([Source("train.py", text), *others]))


def defaults(found: Lifted) -> tuple[object, ...]:
    return tuple(found.fields[f"loss_scaling.{name}"].value for name in NAMES)


@pytest.mark.parametrize(
    ("scaler", "interval"),
    [
        ("paddle.amp.GradScaler", 2000),
        ("paddle.amp.AmpScaler", 1000),
        ("fluid.dygraph.AmpScaler", 1000),
        ("fluid.dygraph.amp.AmpScaler", 1000),
    ],
)
def test_scalers_of_dynamic_graphs(scaler: str, interval: int) -> None:
    found = lifted(DYNAMIC.format(scaler=scaler))
    assert defaults(found) == (1024, interval, 0.5, 1)


@pytest.mark.parametrize(
    ("decorate", "values", "note"),
    [
        (FLUID, (2.0**15, 1000, 0.8, 2), "default of paddle before 2.5"),
        (
            "paddle.static.amp.decorate(optimizer, use_bf16=False)",
            (2.0**15, 1000, 0.8, 2),
            "default of paddle 3.3.1",
        ),
        (
            "paddle.static.amp.decorate(optimizer, level='O1')",
            (2.0**16, 2000, 0.5, 1),
            "default of paddle 3.3.1",
        ),
    ],
)
def test_decorated_optimizers(decorate: str, values: tuple[object, ...], note: str) -> None:
    found = lifted(STATIC.format(decorate=decorate))
    assert defaults(found) == values
    assert found.fields["loss_scaling.growth_interval"].note == note


def test_a_newer_version_that_is_asked_for_does_not_change_what_is_gone() -> None:
    wanted = Source("requirements.txt", "paddlepaddle==3.0.0\n")
    assert defaults(lifted(STATIC.format(decorate=FLUID), wanted)) == (2.0**15, 1000, 0.8, 2)


def test_what_the_source_says_stays() -> None:
    text = STATIC.format(decorate=FLUID.replace(")", ", incr_every_n_steps=77)"))
    assert defaults(lifted(text)) == (2.0**15, 77, 0.8, 2)


TORCH = """\
import torch
{imports}
model = torch.nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
{made}
for inputs, labels in loader:
    optimizer.zero_grad()
    {cast}loss = torch.nn.functional.cross_entropy(model(inputs), labels)
    {back}
    {step}
"""
SCALED = {
    "imports": "",
    "cast": "with torch.autocast('cuda', dtype=torch.float16): ",
    "back": "scaler.scale(loss).backward()",
    "step": "scaler.step(optimizer); scaler.update()",
}
APEX = {
    "imports": "from apex import amp",
    "cast": "",
    "back": "with amp.scale_loss(loss, optimizer) as scaled: scaled.backward()",
    "step": "optimizer.step()",
}
WRAPPED = {"cast": "", "back": "optimizer.backward(loss)", "step": "optimizer.step()"}
ACCELERATE = {
    "imports": "from accelerate import Accelerator",
    "cast": "",
    "back": "accelerator.backward(loss)",
    "step": "optimizer.step()",
}
FABRIC = {
    "imports": "import lightning as L",
    "cast": "",
    "back": "fabric.backward(loss)",
    "step": "optimizer.step()",
}
PREPARED = "model, optimizer, loader = {}(model, optimizer, loader)"


def torch_program(made: str, parts: dict[str, str]) -> str:
    return TORCH.format(made=made, **parts)


TRAINER = """\
from transformers import Trainer, TrainingArguments

args = TrainingArguments("out", fp16=True{more})
Trainer(model=model, args=args, train_dataset=data).train()
"""
LIGHTNING = """\
import lightning as L
import torch

class Model(L.LightningModule):
    def training_step(self, batch, index):
        return self.net(batch).sum()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

L.Trainer(precision="16-mixed"{more}).fit(Model(), data)
"""
KERAS_2 = """\
import tensorflow as tf

tf.keras.mixed_precision.set_global_policy("mixed_float16")
model = tf.keras.Sequential([tf.keras.layers.Dense(4)])
optimizer = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.SGD(0.1))
for inputs, labels in dataset:
    with tf.GradientTape() as tape:
        scaled = optimizer.get_scaled_loss(criterion(labels, model(inputs)))
    scaled = tape.gradient(scaled, model.trainable_variables)
    gradients = optimizer.get_unscaled_gradients(scaled)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""
KERAS_3 = """\
import keras
import tensorflow as tf

keras.mixed_precision.set_global_policy("mixed_float16")
model = keras.Sequential([keras.layers.Dense(4)])
optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1))
for inputs, labels in dataset:
    with tf.GradientTape() as tape:
        scaled = optimizer.scale_loss(criterion(labels, model(inputs)))
    gradients = tape.gradient(scaled, model.trainable_variables)
    optimizer.apply(gradients, model.trainable_variables)
"""
FIT = """\
import {0}
{1}.mixed_precision.set_global_policy("mixed_float16")
model = {1}.Sequential([{1}.layers.Dense(4)])
model.compile(optimizer={1}.optimizers.Adam(1e-3), loss="mse")
model.fit(dataset, epochs=3)
"""
REWRITE = """\
import tensorflow as tf

optimizer = tf.compat.v1.train.AdamOptimizer(1e-4)
optimizer = tf.compat.v1.train.experimental.enable_mixed_precision_graph_rewrite(optimizer)
operation = optimizer.minimize(loss)
with tf.compat.v1.Session() as session:
    for _ in range(10):
        session.run(operation)
"""
CONTRIB = """\
import tensorflow as tf

optimizer = tf.train.AdamOptimizer(1e-4)
manager = tf.contrib.mixed_precision.ExponentialUpdateLossScaleManager(2**15, 1000)
optimizer = tf.contrib.mixed_precision.LossScaleOptimizer(optimizer, manager)
operation = optimizer.minimize(loss)
with tf.Session() as session:
    for _ in range(10):
        session.run(operation)
"""
GARDEN = """\
import tensorflow as tf
from official.modeling import performance

optimizer = tf.keras.optimizers.SGD(0.1)
optimizer = performance.configure_optimizer(optimizer, use_float16=True)
for inputs, labels in dataset:
    with tf.GradientTape() as tape:
        loss = criterion(labels, model(inputs))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""
FLEET = """\
import paddle
from paddle.distributed import fleet

paddle.enable_static()
loss = paddle.mean(paddle.static.nn.fc(paddle.static.data("x", [32, 8]), 4))
strategy = fleet.DistributedStrategy()
strategy.amp = True
fleet.init(is_collective=True)
optimizer = fleet.distributed_optimizer(paddle.optimizer.SGD(0.1), strategy)
optimizer.minimize(loss)
executor = paddle.static.Executor()
executor.run(feed=batch, fetch_list=[loss])
"""
FLAX = """\
import jax
import optax
from flax.training import dynamic_scale

scale = dynamic_scale.DynamicScale()

def train_step(state, batch):
    scale, finite, loss, gradients = scale.value_and_grad(loss_function)(state.params)
    return state.apply_gradients(grads=gradients)

optimizer = optax.sgd(0.1)
"""
NONE = {
    "torch.amp": torch_program("scaler = torch.amp.GradScaler('cuda')", SCALED),
    "torch.cuda.amp": torch_program("scaler = torch.cuda.amp.GradScaler()", SCALED),
    "apex": torch_program("model, optimizer = amp.initialize(model, optimizer)", APEX),
    "accelerate": torch_program(
        "accelerator = Accelerator(mixed_precision='fp16')\n"
        + PREPARED.format("accelerator.prepare"),
        ACCELERATE,
    ),
    "fabric": torch_program(
        "fabric = L.Fabric(precision='16-mixed')\n"
        "model, optimizer = fabric.setup(model, optimizer)",
        FABRIC,
    ),
    "transformers": TRAINER.format(more=""),
    "lightning": LIGHTNING.format(more=""),
    "paddle": DYNAMIC.format(scaler="paddle.amp.GradScaler"),
    "paddle AmpScaler": DYNAMIC.format(scaler="paddle.amp.AmpScaler"),
    "fluid": DYNAMIC.format(scaler="fluid.dygraph.AmpScaler"),
    "keras 3": KERAS_3,
    "keras 3 fit": FIT.format("keras", "keras"),
}
"""Programs whose scaler has no lowest scale."""
ONE = {
    "keras 2": KERAS_2,
    "tf_keras": FIT.format("tf_keras", "tf_keras"),
    "model garden": GARDEN,
    "graph rewrite": REWRITE,
    "contrib": CONTRIB,
    "fluid": STATIC.format(decorate=FLUID),
    "paddle old": STATIC.format(decorate="paddle.static.amp.decorate(optimizer, use_bf16=False)"),
    "paddle new": STATIC.format(decorate="paddle.static.amp.decorate(optimizer, level='O1')"),
    "fleet": FLEET,
    "transformers with DeepSpeed": TRAINER.format(more=", deepspeed='ds.json'"),
    "lightning with DeepSpeed": LIGHTNING.format(more=", strategy='deepspeed_stage_2'"),
    "fp16_utils": torch_program(
        "optimizer = FP16_Optimizer(optimizer, dynamic_loss_scale=True)",
        WRAPPED | {"imports": "from apex.fp16_utils import FP16_Optimizer"},
    ),
    "contrib of apex": torch_program(
        "optimizer = FP16_Optimizer(optimizer, dynamic_loss_scale=True)",
        WRAPPED | {"imports": "from apex.contrib.optimizers import FP16_Optimizer"},
    ),
}
"""Programs that look like those, whose scale never falls below 1."""


def lowest(text: str, *others: Source) -> Filled:
    return lifted(text, *others).fields["loss_scaling.min_scale"]


@pytest.mark.parametrize("name", NONE)
def test_a_scaler_without_a_lowest_scale(name: str) -> None:
    found = lowest(NONE[name])
    assert (found.value, found.how) == (None, "default")
    assert found.note.startswith("default of ")


@pytest.mark.parametrize("name", ONE)
def test_a_scaler_that_stops_at_one(name: str) -> None:
    found = lowest(ONE[name])
    assert (found.value, found.how) == (1.0, "default")
    assert found.note.startswith("default of ")


def test_a_lowest_scale_that_is_written_is_a_number() -> None:
    assert lowest(FLAX).value == 2.0**-126


@pytest.mark.parametrize(("version", "value"), [("2.12.0", 1.0), ("2.18.0", None)])
def test_the_version_of_tensorflow_says_which_keras_it_is(
    version: str, value: float | None
) -> None:
    wanted = Source("requirements.txt", f"tensorflow=={version}\n")
    assert lowest(FIT.format("tensorflow as tf", "tf.keras"), wanted).value == value


def test_a_lowest_scale_of_the_source_counts() -> None:
    made = "model, optimizer = amp.initialize(model, optimizer, min_loss_scale=128.0)"
    assert lowest(torch_program(made, APEX)).value == 128.0
    bounded = SCALED | {"step": "scaler.update(); scaler.update(max(scaler.get_scale(), 4.0))"}
    found = lowest(torch_program("scaler = torch.amp.GradScaler('cuda')", bounded))
    assert (found.value, found.how) == (4.0, "read")


def test_a_lowest_scale_that_cannot_be_known_is_asked_for() -> None:
    made = "model, optimizer = amp.initialize(model, optimizer, min_loss_scale=args.least)"
    assert lowest(torch_program(made, APEX)).how == "assumed"
    own = SCALED | {"step": "scaler.step(optimizer); scaler.update(policy(loss))"}
    text = torch_program("scaler = torch.amp.GradScaler('cuda')", own)
    assert lowest(text).how == "assumed"
    assert "min_scale: null                   # FILL IN: train.py:10" in lifted(text).text


@pytest.mark.parametrize("text", [NONE["torch.amp"], ONE["graph rewrite"]])
def test_the_recipe_that_is_written_says_it(text: str, tmp_path: Path) -> None:
    found = lifted(text)
    assert found.recipe is not None
    written = tmp_path / "recipe.yaml"
    written.write_text(found.text, encoding="utf-8")
    read = side_of(str(written), {})
    expected = found.fields["loss_scaling.min_scale"].value
    assert read.values["loss_scaling.min_scale"] == expected
    states = {d.state for d in differences(side_of_lifted("train.py", found), read)}
    assert states == {"unknown"}


def test_a_lowest_scale_and_none_are_a_difference() -> None:
    sides = [
        side_of_lifted(name, lifted(text))
        for name, text in (("old.py", KERAS_2), ("new.py", KERAS_3))
    ]
    (found,) = [d for d in differences(*sides) if d.path.startswith("loss_scaling.")]
    assert (found.path, found.state) == ("loss_scaling.min_scale", "different")
    assert (found.left, found.right) == (1.0, None)
