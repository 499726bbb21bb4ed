"""Windows that a library counts: merged gradients of Paddle, accumulating optimizers of Keras."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources


def codes(text: str, *watched: str) -> list[str]:
    found = lint_sources([Source("train.py", text)])
    return sorted({d.code for d in found if d.code in watched})


FLEET = """\
import paddle
import paddle.distributed.fleet as fleet

strategy = fleet.DistributedStrategy()
strategy.gradient_merge = True
strategy.gradient_merge_configs = {configs}
optimizer = fleet.distributed_optimizer(paddle.optimizer.Adam(1e-3), strategy=strategy)
optimizer.minimize(loss)
"""


@pytest.mark.parametrize(
    ("configs", "expected"),
    [
        ('{"k_steps": 4, "avg": False}', ["CL101"]),
        ('{"k_steps": 4, "avg": True}', []),
        ('{"k_steps": 4}', []),
        ('{"k_steps": 1, "avg": False}', []),
        ('{"k_steps": 4, "avg": args.avg}', []),
        ('{"k_steps": args.k, "avg": False}', ["CL101"]),
    ],
)
def test_merged_gradients_of_fleet(configs: str, expected: list[str]) -> None:
    assert codes(FLEET.replace("{configs}", configs), "CL101") == expected


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        ("criterion(model(x), y) / 4", []),
        ("criterion(model(x), y) / rows_of_window", []),
        ("criterion(model(x / 255), y)", ["CL101"]),
        ("criterion(model(x), y)", ["CL101"]),
    ],
)
def test_losses_of_merged_gradients_that_the_program_divides(
    loss: str, expected: list[str]
) -> None:
    text = FLEET.replace("{configs}", '{"k_steps": 4, "avg": False}')
    text = text.replace("optimizer.min", f"loss = {loss}\noptimizer.min")
    assert codes(text, "CL101") == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("k_steps=4, avg=False", ["CL101"]),
        ("4, False", []),
        ("4, avg=False", ["CL101"]),
        ("k_steps=4, avg=True", []),
        ("k_steps=4", []),
    ],
)
def test_the_merging_optimizer(given: str, expected: list[str]) -> None:
    text = (
        "import paddle\noptimizer = paddle.optimizer.Adam(1e-3)\n"
        f"optimizer = paddle.incubate.optimizer.GradientMergeOptimizer(optimizer, {given})\n"
        "optimizer.minimize(loss)\n"
    )
    assert codes(text, "CL101") == expected


FLUID = """\
import paddle.fluid as fluid

optimizer = fluid.optimizer.AdamOptimizer(1e-3, parameter_list=model.parameters())
for step, (x, y) in enumerate(reader()):
    loss = fluid.layers.reduce_mean(fluid.layers.cross_entropy(model(x), y))
    loss.backward()
    if (step + 1) % windows == 0:
        optimizer.minimize(loss)
        model.clear_gradients()
"""


def test_means_of_fluid() -> None:
    assert codes(FLUID, "CL101") == ["CL101"]
    assert codes(FLUID.replace("reduce_mean", "reduce_sum"), "CL101") == []
    assert codes(FLUID.replace(", y))\n", ", y)) / windows\n"), "CL101") == []


KERAS = """\
import keras
import tensorflow as tf

optimizer = keras.optimizers.AdamW(1e-3, gradient_accumulation_steps=4)
for x, y in rows:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - y)
    gradients = tape.gradient(loss, model.trainable_variables)
    gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", ["CL303"]),
        (", gradient_accumulation_steps=4", "", []),
        ("gradient_accumulation_steps=4", "gradient_accumulation_steps=1", []),
        ("    gradients, _ = tf", "    shown, _ = tf", []),
        ("    optimizer.apply", "    other.apply", []),
    ],
)
def test_clips_before_an_accumulating_optimizer(old: str, new: str, expected: list[str]) -> None:
    assert codes(KERAS.replace(old, new) if old else KERAS, "CL303") == expected


BRANCHES = """\
import tensorflow as tf

optimizer = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.Adam(1e-3))


def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - y)
        scaled = optimizer.get_scaled_loss(loss)
    if use_fp16:
        gradients = tape.gradient(scaled, model.trainable_variables)
        gradients = optimizer.get_unscaled_gradients(gradients)
    else:
        gradients = tape.gradient(loss, model.trainable_variables)
        gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""


def test_a_clip_on_one_path_of_a_tape() -> None:
    assert codes(BRANCHES, "CL306") == ["CL306"]
    after = "        gradients, _ = tf.clip_by_global_norm(gradients, 1.0)\n"
    both = BRANCHES.replace(after, after[4:])
    assert codes(both, "CL306") == []
    other = BRANCHES.replace("use_fp16", "is_large")
    assert codes(other, "CL306") == []


SCALER = """\
import paddle

model = paddle.nn.Linear(8, 2)
optimizer = paddle.optimizer.AdamW(1e-3, parameters=model.parameters())
scaler = paddle.amp.GradScaler(init_loss_scaling=1024)
for x, y in loader:
    with paddle.amp.auto_cast():
        loss = paddle.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", ["CL206"]),
        ("    optimizer.clear_grad()", "    paddle.save(scaler.state_dict(), path)", ["CL206"]),
        ("    loss.backward()", "    backward(loss, scaler)", []),
        ("    loss.backward()", "    scaler.scale(loss).backward()", []),
        ("    optimizer.step()", "    update(optimizer, self.scaler)", []),
        ("scaler = paddle.amp.GradScaler(", "keep(paddle.amp.GradScaler(", []),
    ],
)
def test_a_scaler_that_nothing_uses(old: str, new: str, expected: list[str]) -> None:
    text = SCALER.replace(old, new) if old else SCALER
    text = text.replace("=1024)", "=1024))") if new.startswith("keep") else text
    assert codes(text, "CL206") == expected


HALF = """\
import paddle

paddle.set_default_dtype("float16")
model = paddle.nn.Linear(8, 2)
optimizer = paddle.optimizer.AdamW(1e-3, parameters=model.parameters())
for x, y in loader:
    loss = paddle.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", ["CL804"]),
        ('"float16"', '"float32"', []),
        ("paddle.set_default", "if half:\n    paddle.set_default", []),
        ("    loss.backward()\n", "", []),
        ("    optimizer.step()", "    scaler.step(optimizer)", []),
    ],
)
def test_half_weights_of_paddle(old: str, new: str, expected: list[str]) -> None:
    assert codes(HALF.replace(old, new) if old else HALF, "CL804") == expected


FLAGS = """\
import argparse

import paddle

parser = argparse.ArgumentParser()
parser.add_argument("--dtype", default="bfloat16")
args = parser.parse_args()
scaler = paddle.amp.GradScaler(enable=(args.dtype in ["float16", "bfloat16"]))
for x, y in loader:
    with paddle.amp.auto_cast(dtype=args.dtype):
        loss = paddle.nn.functional.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.clear_grad()
"""


def test_a_scaler_for_bfloat16_by_default() -> None:
    assert codes(FLAGS, "CL207") == ["CL207"]
    by_choice = FLAGS.replace('default="bfloat16"', 'default="float16"')
    assert codes(by_choice, "CL207") == ["CL207"]
    only_half = FLAGS.replace('in ["float16", "bfloat16"]', '== "float16"')
    assert codes(only_half, "CL207") == []


ABSL = """\
import tensorflow as tf
from absl import app, flags

FLAGS = flags.FLAGS
flags.DEFINE_float("clip_norm", 1.0, "Limit of the gradients.")
flags.DEFINE_float("lr", 1e-3, "Learning rate.")


def main(_):
    optimizer = tf.keras.optimizers.Adam(FLAGS.lr)
    for x, y in rows:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) - y)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))


app.run(main)
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", ["CL912"]),
        ("Adam(FLAGS.lr)", "Adam(FLAGS.lr, clipnorm=FLAGS.clip_norm)", []),
        ("import tensorflow as tf\n", "import tensorflow as tf\nimport helpers\n", []),
        ("import tensorflow as tf\n", "import tensorflow as tf\nfrom . import helpers\n", []),
        ('"clip_norm", 1.0', '"log_every", 1.0', []),
    ],
)
def test_dead_flags_of_absl(old: str, new: str, expected: list[str]) -> None:
    assert codes(ABSL.replace(old, new) if old else ABSL, "CL912") == expected
