"""The executed proof of programs that train in sessions.

With CROSSCAST_TENSORFLOW_1_15 naming a Python that has TensorFlow 1.15, the originals run there.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from crosscast.messages.source import Source
from crosscast_migrate.in_place import migrate_in_place
from crosscast_migrate.registry import codemods_to
from crosscast_parity.side_by_side.on_cpu import NOTE
from crosscast_parity.side_by_side.running import Limits
from frameworks.subprocesses import interpreter, require
from frameworks.test_tensorflow1 import OLD
from side_by_side import Bench
from tiers import cases, exhaustive

pytestmark = pytest.mark.tensorflow

PROGRAM = """\
import numpy as np
import tensorflow as tf

rows = np.linspace(-1.0, 1.0, 8 * 4).reshape(8, 4).astype("float32")
inputs = tf.placeholder(tf.float32, [None, 4])
labels = tf.placeholder(tf.int64, [None])
hidden = tf.layers.dense(inputs, 5, tf.nn.tanh)
scale = tf.get_variable("scale", [5], initializer=tf.contrib.layers.xavier_initializer())
logits = tf.layers.dense(hidden * scale, 3)
loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
step = tf.train.get_or_create_global_step()
rate = tf.train.exponential_decay(0.1, step, 4, 0.5, staircase=True)
optimizer = tf.train.AdamOptimizer(rate)
pairs = optimizer.compute_gradients(loss)
gradients, _ = tf.clip_by_global_norm([gradient for gradient, _ in pairs], 0.5)
update = optimizer.apply_gradients(zip(gradients, [weight for _, weight in pairs]), step)
with tf.train.MonitoredTrainingSession() as session:
    for _ in range(8):
        session.run([loss, update], {inputs: rows, labels: np.arange(8) % 3})
"""
PLANTED = {
    "rate": ("exponential_decay(0.1,", "exponential_decay(0.2,", "rate", 1),
    "schedule": ("step, 4, 0.5", "step, 4, 0.4", "rate", 5),
    "clip": ("], 0.5)", "], 0.05)", "gradients", 1),
    "update": ("optimizer.apply", "tf.train.GradientDescentOptimizer(rate).apply", "changes", 1),
    "fewer updates": ("in range(8)", "in range(6)", "updates", 7),
}


def migrated(text: str) -> str:
    """Return the program for `tf.compat.v1`."""
    found = migrate_in_place([Source("train.py", text)], codemods_to("tf.compat.v1"))
    assert not found.refusals
    return found.texts["train.py"]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    require("tensorflow")
    folder = tmp_path_factory.mktemp("own")
    (folder / "train.py").write_text("raise SystemExit('the copy was not written over')\n")
    return Bench(folder, "tensorflow", Limits(seconds=300.0))


@pytest.mark.parametrize("name", cases(PLANTED, quick=[], reason="planted mistakes"))
def test_a_planted_mistake_is_found(bench: Bench, name: str) -> None:
    old, new, what, update = PLANTED[name]
    text = migrated(PROGRAM)
    assert old in text
    found = bench.prove(text, text.replace(old, new))
    assert found.outcome == "different", found.wording
    assert found.difference is not None
    assert (found.difference.what, found.difference.update) == (what, update), found.wording


@exhaustive("a session that asks for a GPU")
def test_a_session_that_asks_for_a_gpu_is_proven_on_the_cpu(bench: Bench) -> None:
    lines = migrated(PROGRAM).replace("import numpy as np\n", "", 1).splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("rows ="))
    end = next(number for number, line in enumerate(lines) if line.startswith("with "))
    graph = ["with tf.device('/GPU:0'):", *(f"    {line}" for line in lines[start:end])]
    config = "config=tf.ConfigProto(log_device_placement=False)"
    rest = [line.replace("TrainingSession()", f"TrainingSession({config})") for line in lines[end:]]
    text = "\n".join(["import numpy as np", *lines[:start], *graph, *rest, ""])
    found = bench.prove(text, text)
    assert found.outcome == "same", found.wording
    assert found.updates == 8
    assert NOTE in found.notes


@exhaustive("starts TensorFlow several times")
def test_what_cannot_run_leaves_one_side(bench: Bench) -> None:
    found = bench.prove(PROGRAM, migrated(PROGRAM))
    assert found.outcome == "cannot be verified here"
    assert found.alone == 8
    assert found.wording.endswith("; the migrated script alone makes 8 updates")


@OLD
@exhaustive("needs TensorFlow 1.15")
def test_what_ran_in_tensorflow_1_is_proven(bench: Bench) -> None:
    python = interpreter("tensorflow@1.15")
    found = bench.prove(PROGRAM, migrated(PROGRAM), old_python=python)
    assert found.outcome == "same", found.wording
    assert found.updates == 8
    assert not [note for note in found.notes if "eagerly" in note]
    assert [note for note in found.notes if "the same on both sides" in note]


@OLD
@exhaustive("needs TensorFlow 1.15")
def test_other_random_numbers_are_said(bench: Bench, tmp_path: Path) -> None:
    python = interpreter("tensorflow@1.15")
    text = PROGRAM.replace("hidden * scale", "tf.nn.dropout(hidden, 0.5) * scale")
    found = bench.prove(text, migrated(text), old_python=python)
    assert found.outcome == "cannot be verified here"
    assert "both sides draw random numbers" in found.wording
