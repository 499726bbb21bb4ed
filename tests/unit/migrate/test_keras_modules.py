"""CM212: modules of TensorFlow, replicas and cells that use Keras."""

from __future__ import annotations

import pytest

from unit.migrate.keras_migrations import after, refused, untouched

TF = "import tensorflow as tf\n"
NET = """\
import tensorflow as tf


class Net(tf.Module):
    def __init__(self):
        self.cell = tf.keras.layers.{cell}(3)

    def start(self, size):
        return self.cell.get_initial_state({given})
"""
REPLICAS = """\
import tensorflow as tf

tf.keras.mixed_precision.set_global_policy("mixed_float16")
strategy = tf.distribute.MirroredStrategy()


def step(x):
    return tf.cast(x, {dtype})


strategy.{run}(step, args=(x,))
"""


def test_a_module_gets_a_base_that_finds_layers() -> None:
    text = NET.format(cell="GRUCell", given="size") + "\n\nprint(Net().variables)\n"
    assert "class Net(KerasModule):" in after(text, "CM212")


@pytest.mark.parametrize(
    "text",
    [
        NET.format(cell="GRUCell", given="size"),  # its variables are not read
        f"{TF}\n\nclass Net(tf.Module):\n    pass\n\n\nprint(Net().variables)\n",
        f"{TF}import ours\n\n\nclass Net(ours.Module):\n    pass\n\n\n"
        "tf.keras.layers.Dense(1)\nprint(Net().variables)\n",
        REPLICAS.format(dtype="tf.float16", run="run"),
        f"{TF}cell = ours.Cell()\ncell.get_initial_state(inputs, 2, tf.float32)\n",
        "import tensorflow as tf\nimport numpy as np\nours.Dense(np.prod(shape))\n",
    ],
)
def test_what_must_stay(text: str) -> None:
    assert untouched(text, "CM212")


@pytest.mark.parametrize(
    ("cell", "new"),
    [
        ("GRUCell", "tf.cast(self.cell.get_initial_state(size)[0], tf.float16)"),
        (
            "LSTMCell",
            "[tf.cast(state, tf.float16) for state in self.cell.get_initial_state(size)]",
        ),
    ],
)
def test_the_first_state_of_a_cell(cell: str, new: str) -> None:
    text = NET.format(cell=cell, given="None, size, tf.float16")
    assert new in after(text, "CM212")
    by_name = NET.format(cell=cell, given="batch_size=size, dtype=tf.float16")
    assert new in after(by_name, "CM212")


def test_the_first_state_from_inputs_is_refused() -> None:
    text = NET.format(cell="GRUCell", given="inputs, size, tf.float16")
    assert "takes only batch_size" in refused(text, "CM212")


def test_replicas_get_the_policy_that_they_read() -> None:
    policy = "tf.keras.mixed_precision.global_policy().compute_dtype"
    found = after(REPLICAS.format(dtype=policy, run="experimental_run_v2"), "CM212")
    assert "strategy.run(with_global_policy(step), args=(x,))" in found
    assert "def with_global_policy(function):" in found


def test_the_old_name_of_run() -> None:
    found = after(REPLICAS.format(dtype="tf.float16", run="experimental_run_v2"), "CM212")
    assert found == REPLICAS.format(dtype="tf.float16", run="run")


def test_units_are_whole_numbers() -> None:
    text = (
        "import numpy as np\nimport tensorflow as tf\n"
        "a = tf.keras.layers.Dense(np.prod(shape))\n"
        "b = get('out', tf.keras.layers.Dense, np.prod(shape))\n"
    )
    wanted = text.replace("np.prod(shape)", "int(np.prod(shape))")
    assert after(text, "CM212") == wanted


def test_a_cell_of_a_removed_base() -> None:
    text = f"{TF}\n\nclass Cell(tf.keras.layers.AbstractRNNCell):\n    pass\n"
    assert "AbstractRNNCell was removed" in refused(text, "CM210")
