"""Forms of programs that reach what no other test does: each with the lines that come of it."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_migrate.in_place import InPlaceMigration, migrate_in_place
from crosscast_migrate.registry import codemods_to
from crosscast_paddle.migration.experimental.codemods.paddle_hand_made_masters import (
    CODEMOD as MASTERS,
)

APEX = """\
import torch
from apex import amp


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = amp.initialize(model, optimizer, opt_level="O1")

    def epoch(self, rows):
        for x in rows:
            update(self.model, x, self.optimizer)

    def once(self, x):
        loss = self.model(x).sum()
        with amp.scale_loss(loss, self.optimizer) as scaled:
            scaled.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


def update(model, x, optimizer):
    loss = model(x).sum()
    with amp.scale_loss(loss, optimizer) as scaled:
        scaled.backward()
    optimizer.step()
    optimizer.zero_grad()


trainer = Trainer(model, optimizer)
trainer.epoch(rows)
trainer.once(rows[0])
"""
FLUID = "import paddle\nimport paddle.fluid as fluid\n\n"
KERAS = "import tensorflow as tf\n\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
SCALED = """\
optimizer = tf.keras.mixed_precision.experimental.LossScaleOptimizer(
    optimizer=tf.keras.optimizers.SGD(0.1), loss_scale="dynamic"
)
for x, y in rows:
    with tf.GradientTape() as tape:
        scaled = optimizer.get_scaled_loss(tf.reduce_mean(model(x) - y))
    grads = tape.gradient(scaled, model.trainable_variables)
    grads = optimizer.get_unscaled_gradients(grads)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
"""
HALF_WEIGHTS = """\
import numpy as np


def to_half(program, scope):
    for weight in program.all_parameters():
        tensor = scope.find_var(weight.name).get_tensor()
        tensor.set(np.float16(np.array(tensor)).view(np.uint16), place)


"""


def migrated(api: str, text: str) -> InPlaceMigration:
    found = migrate_in_place([Source("train.py", text)], codemods_to(api))
    assert not found.problems
    return found


@pytest.mark.parametrize(
    ("api", "text", "expected"),
    [
        ("torch.amp", APEX, ["update(self.model, x, self.optimizer, scaler=self.scaler)"]),
        (
            "paddle3",
            f"{FLUID}with fluid.dygraph.guard():\n"
            "    fluid.default_main_program().random_seed = 90\n"
            "    x = fluid.dygraph.to_variable(rows)\n",
            ["    paddle.seed(90)"],
        ),
        (
            "paddle3",
            f"{FLUID}with fluid.dygraph.guard(place=fluid.CPUPlace()):\n"
            "    x = fluid.dygraph.to_variable(rows)\n",
            ["paddle.set_device(paddle.CPUPlace())", "with paddle.utils.unique_name.guard():"],
        ),
        ("keras3", KERAS + SCALED, ["    inner_optimizer=tf.keras.optimizers.SGD(0.1)"]),
    ],
)
def test_what_becomes_of_it(api: str, text: str, expected: list[str]) -> None:
    found = migrated(api, text)
    assert not found.refusals
    assert [part for part in expected if part not in found.texts["train.py"]] == []


def test_weights_are_not_cast_to_half_any_more() -> None:
    cast = "    if args.use_fp16:\n        to_half(program, scope)\n"
    alone = "\n\ndef start(args, program, scope):\n" + cast
    text = MASTERS.examples[0].before + "\n\n" + HALF_WEIGHTS.rstrip("\n") + "\n" + alone
    assert migrated("paddle3", text).texts["train.py"].endswith("program, scope):\n    pass\n")
    more = migrated("paddle3", text + "    return program\n").texts["train.py"]
    assert more.endswith("program, scope):\n    return program\n")
