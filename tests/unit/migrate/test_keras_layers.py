"""CM215 and CM216: the program's own layers, and private names of Keras."""

from __future__ import annotations

import pytest

from unit.migrate.keras_migrations import after, refused, untouched

CALL = """\
import tensorflow as tf


class Shift(tf.keras.layers.Layer):
    def call(self, inputs, training=None):
{body}
        return inputs

    def helper(self, inputs):
        {helper}
"""


def call(body: str, helper: str = "return inputs") -> str:
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    return CALL.format(body=lines, helper=helper)


@pytest.mark.parametrize(
    "text",
    [
        call("if tf.reduce_sum(inputs) > 0:\n    return -inputs"),
        call("n = tf.shape(inputs)[0] + 1\nwhile n > 3:\n    n -= 1"),
        call("for i in tf.range(3):\n    inputs += 1"),
        call("inputs = self.helper(inputs)", "return -inputs if x else tf.abs(inputs)"),
        call("inputs = self.helper(inputs)", "assert tf.reduce_all(inputs)"),
    ],
)
def test_a_call_that_asks_for_the_value_of_a_tensor(text: str) -> None:
    asks = "if x else" not in text
    decorated = text.replace("    def call", "    @tf.function\n    def call")
    assert after(text, "CM215") == (decorated if asks else text)


@pytest.mark.parametrize(
    "text",
    [
        call("if training:\n    return -inputs"),
        call("if inputs.shape[0] is None:\n    return -inputs"),
        call("n = self.n\nfor i in range(n):\n    inputs += 1"),
        call("if len(inputs) > 2:\n    return -inputs"),
        call("if tf.executing_eagerly():\n    return -inputs"),
        call("if tf.reduce_sum(inputs) > 0:\n    pass").replace(
            "    def c", "    @ours\n    def c"
        ),
        call("if tf.reduce_sum(inputs) > 0:\n    pass").replace("tf.keras.layers.Layer", "Ours"),
        "import tensorflow as tf\n\n\nclass Cell(tf.keras.layers.Layer):\n    pass\n",
    ],
)
def test_what_must_stay(text: str) -> None:
    assert untouched(text, "CM215")


@pytest.mark.parametrize("line", ["self.last = inputs", "self.add_loss(inputs)"])
def test_a_call_that_keeps_tensors_is_refused(line: str) -> None:
    text = call(f"{line}\nif tf.reduce_sum(inputs) > 0:\n    return -inputs")
    assert "does not convert call by AutoGraph" in refused(text, "CM215")


def test_an_imported_base_of_a_cell_is_refused_by_name() -> None:
    text = "from tensorflow.keras.layers import AbstractRNNCell\n"
    assert "AbstractRNNCell was removed" in refused(text, "CM210", "CM215")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "from tensorflow.python.keras import backend as K",
            "from tensorflow.keras import backend as K",
        ),
        (
            "from tensorflow.python.keras.models import Model, Sequential",
            "from tensorflow.keras.models import Model, Sequential",
        ),
        (
            "from tensorflow.python.keras.layers import Dense, concatenate",
            "from tensorflow.keras.layers import Dense, concatenate",
        ),
        (
            "from tensorflow.python.keras.backend import reshape",
            "from tensorflow.keras.backend import reshape",
        ),
        (
            "from tensorflow.python.keras.engine.training import Model",
            "from tensorflow.keras import Model",
        ),
        (
            "from tensorflow.python.keras.utils.np_utils import to_categorical as one_hot",
            "from tensorflow.keras.utils import to_categorical as one_hot",
        ),
    ],
)
def test_private_names(old: str, new: str) -> None:
    assert after(f"{old}\n", "CM216") == f"{new}\n"


@pytest.mark.parametrize(
    "line",
    [
        "from tensorflow.python.keras.engine import data_adapter",
        "from tensorflow.python.keras.optimizer_v2 import optimizer_v2",
        "from tensorflow.python.keras.utils import data_utils, layer_utils",
        "from tensorflow.python.keras.layers import core",
        "from tensorflow.python.keras.backend import get_graph",
        "import tensorflow.python.keras",
    ],
)
def test_names_that_are_only_private_are_refused(line: str) -> None:
    assert "is a private copy of Keras 2" in refused(f"{line}\n", "CM216")


def test_the_policy_outlives_clear_session() -> None:
    text = "from tensorflow.keras import backend as K\n{}K.clear_session()\n"
    sets = "from tensorflow.keras import mixed_precision as m\nm.set_global_policy(p)\n"
    assert untouched(text.format(""), "CM212")
    assert after(text.format(sets), "CM212").endswith("\nclear_session_but_policy()\n")


ASKS = "if tf.reduce_sum(inputs) > 0:\n    inputs = -inputs\n"


@pytest.mark.parametrize(
    "body",
    [
        "inputs *= np.random.beta(0.2, 0.2)",
        "inputs *= random.random()",
        "self.seen.append(inputs)",
        'self.cache["last"] = inputs',
        "print(tf.reduce_sum(inputs).numpy())",
        "inputs *= self.rate",
    ],
)
def test_what_a_function_of_tensorflow_would_do_only_once_stays(body: str) -> None:
    text = "import random\nimport numpy as np\n" + call(ASKS + body)
    text += "\n\nshift = Shift()\nshift.rate = 0.5\n"
    assert "AutoGraph" in refused(text, "CM215")


def test_attributes_that_are_set_once_are_no_obstacle() -> None:
    text = (
        call(ASKS + "inputs *= self.rate")
        + "\n    def build(self, shape):\n        self.rate = 1\n"
    )
    text += "\n\nclass Other:\n    def start(self):\n        self.rate = 2\n"
    assert "@tf.function" in after(text, "CM215")
