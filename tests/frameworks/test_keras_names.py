"""The tables of Keras 2 hold in the installed Keras; migrated optimizers do what they did."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from crosscast.messages.source import Source
from crosscast_migrate.in_place import migrate_in_place
from crosscast_migrate.registry import codemods_to
from crosscast_tensorflow.names import NAMES
from frameworks.subprocesses import older, run_python
from tiers import exhaustive

pytestmark = pytest.mark.tensorflow

HERE = Path(__file__).parent
TENSORFLOW_2_5 = "needs TensorFlow 2.5: let CROSSCAST_TENSORFLOW_2_5 name its Python"
OPTIMIZERS = {
    "adam": "tf.keras.optimizers.Adam(lr=0.1, decay=0.05)",
    "sgd": "tf.keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True, decay=1e-1)",
    "rmsprop": "tf.keras.optimizers.RMSprop(lr=0.01, rho=0.95)",
    "default": "tf.keras.optimizers.SGD(decay=0.5)",
}


def test_every_row_holds_in_keras_3() -> None:
    assert run_python(HERE / "run_keras_names.py", "tensorflow") == []


def test_keras_3_does_what_the_places_say() -> None:
    assert run_python(HERE / "run_keras_places.py", "tensorflow") == []


@exhaustive("optimizers beside TensorFlow 2.5")
@pytest.mark.skipif("tensorflow@2.5" not in older("tensorflow"), reason=TENSORFLOW_2_5)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_does_what_it_did_in_keras_2(name: str, tmp_path: Path) -> None:
    text = f"import tensorflow as tf\n\noptimizer = {OPTIMIZERS[name]}\n"
    result = migrate_in_place([Source("train.py", text)], codemods_to("keras3"))
    assert not result.refusals
    (tmp_path / "old.py").write_text(text)
    (tmp_path / "new.py").write_text(result.texts["train.py"])
    runner = HERE / "run_keras_decay.py"
    old = run_python(runner, "tensorflow@2.5", tmp_path / "old.py", fork=False)
    new = run_python(runner, "tensorflow", tmp_path / "new.py")
    np.testing.assert_allclose(old, new, rtol=1e-4, atol=1e-5)


def test_the_arguments_of_a_model_are_those_of_the_index() -> None:
    program = Path(__file__).with_name("run_keras_model_arguments.py")
    taken = run_python(program, "tensorflow")
    functional, layer = NAMES.signatures["keras.Model"]
    assert functional.endswith("**kwargs")
    assert all(taken["functional"].values())
    words = {word.rstrip("=") for word in layer.split()} - {"*"}
    assert {name for name, fits in taken["layer"].items() if fits} == words
