"""Programs that were brought to Keras 3 run, train, scale and skip; loops as in Keras 2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosscast.messages.source import Source
from crosscast_migrate.in_place import migrate_in_place
from crosscast_migrate.registry import codemods_to
from frameworks.subprocesses import require, run_python
from tiers import exhaustive, selected

pytestmark = pytest.mark.tensorflow

HERE = Path(__file__).parent
EXAMPLES = {
    f"{codemod.code}_{number}": (codemod, example)
    for codemod in codemods_to("keras3")
    for number, example in enumerate(codemod.examples)
    if example.before != example.after and codemod.code == "CM202"
}
EACH = pytest.mark.parametrize("name", EXAMPLES)


@pytest.fixture(scope="module")
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What every changed example did that is asked for."""
    folder = tmp_path_factory.mktemp("programs")
    for name in set(selected(request, "name")) & EXAMPLES.keys():
        (folder / f"{name}.py").write_text(EXAMPLES[name][1].after)
    found: dict[str, Any] = run_python(HERE / "run_keras_migrations.py", "tensorflow", folder)
    return found


@EACH
def test_an_example_trains_in_half_with_its_scale(ran: dict[str, Any], name: str) -> None:
    found = ran[name]
    assert found["policy"] == "mixed_float16"
    assert found["half"] == "float16"
    assert found["ran"] > 0
    assert found["finite"]
    assert found["scale"] == 2.0**15


@EACH
def test_an_example_skips_what_overflows(ran: dict[str, Any], name: str) -> None:
    found = ran[name]
    assert found["class"] == "LossScaleOptimizer"
    assert found["kept"]
    assert found["steps_afterwards"] == 0
    assert found["scale_afterwards"] == found["scale"] / 2


LOOP = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(4), tf.keras.layers.Dense(2)])
opt = tf.keras.mixed_precision.LossScaleOptimizer({made})


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
        scaled = opt.get_scaled_loss(loss)
    grads = tape.gradient(scaled, model.trainable_variables)
    grads = opt.get_unscaled_gradients(grads)
{clip}    opt.apply_gradients(zip(grads, model.trainable_variables))
"""
MADE = "tf.keras.optimizers.SGD(0.05, momentum=0.9), initial_scale=256.0"
LOOPS = {
    "plain": LOOP.format(made=MADE, clip=""),
    "clipped": LOOP.format(made=MADE.replace("0.9)", "0.9, global_clipnorm=0.5)"), clip=""),
}


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    """What every loop did before, in Keras 2, and afterwards in Keras 3."""
    require("tf_keras")
    before, after = tmp_path_factory.mktemp("before"), tmp_path_factory.mktemp("after")
    for name, text in LOOPS.items():
        (before / f"{name}.py").write_text(text)
        found = migrate_in_place([Source("train.py", text)], codemods_to("keras3"))
        (after / f"{name}.py").write_text(found.texts["train.py"])
    program = HERE / "run_keras_loops.py"
    return (
        run_python(program, "tensorflow", before, "tf_keras"),
        run_python(program, "tensorflow", after, "keras"),
    )


@exhaustive("loops beside Keras 2; `make test` runs the migrated programs")
@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_does_what_it_did_in_keras_2(
    compared: tuple[dict[str, Any], dict[str, Any]], name: str
) -> None:
    old, new = compared[0][name], compared[1][name]
    assert old["old"]
    assert not new["old"]
    for first, other in zip(old["weights"], new["weights"], strict=True):
        for mine, yours in zip(first, other, strict=True):
            np.testing.assert_allclose(mine, yours, rtol=3e-6, atol=1e-6)
    assert old["scale"] == new["scale"] == 128.0
