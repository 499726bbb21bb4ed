"""Conditions about half precision that another file or the machine decides."""

from __future__ import annotations

import pytest

from crosscast_tensorflow.reading.keras import READER as KERAS
from crosscast_tensorflow.reading.rewrite import READER as REWRITE
from torch_programs import read_by

POLICY = """\
import os

import tensorflow as tf

{imports}

if {test}:
    tf.keras.mixed_precision.set_global_policy("mixed_float16")
"""


@pytest.mark.parametrize(
    ("imports", "test", "who"),
    [
        ("", '"cluster" in os.getcwd()', "config"),
        ("import platform", 'platform.node() == "cluster"', "config"),
        ("import settings", "settings.half_precision", "config"),
        ("from settings import HALF", "HALF", "config"),
        ("from settings import *", "fast_cards == True", "config"),
        ("", "len(rows) > 8", "always"),
        ("from settings import is_first", "is_first(rows)", "always"),
        ("from settings import *", "verbose", "always"),
        ("HALF = True", "HALF", "always"),
        ("import numpy as np", "np.__debug__", "always"),
        ("from apex import HAS_FUSED", "HAS_FUSED", "always"),
        ("from distutils import debug", "debug.DEBUG", "always"),
        ("from imp import SEARCH_ERROR", "SEARCH_ERROR", "always"),
    ],
)
def test_who_decides(imports: str, test: str, who: str) -> None:
    found = read_by(KERAS, POLICY.format(imports=imports, test=test))
    assert found["precision.enabled"] == who
    if who == "config":
        assert "precision.compute_dtype" not in found


def test_a_rewrite_under_a_setting_of_another_file() -> None:
    text = (
        "import tensorflow as tf\nfrom settings import *\n\n"
        "optimizer = tf.keras.optimizers.Adam()\n"
        "if fast_cards == True:\n"
        "    optimizer = tf.train.experimental.enable_mixed_precision_graph_rewrite(optimizer)\n"
    )
    assert read_by(REWRITE, text)["precision.enabled"] == "config"
    local = text.replace("from settings import *", "fast_cards = True")
    assert read_by(REWRITE, local)["precision.enabled"] == "always"


WRAPPER = """\
import tensorflow as tf


def optimizer_of(rate):
    return tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.Adam(rate))
"""
ASKED = """\
import tensorflow as tf


class Fitter:
    def __init__(self, model, optimizer):
        self.model = model
        self.optimizer = optimizer
        if tf.keras.mixed_precision.global_policy().name == "mixed_float16":
            if not isinstance(self.optimizer, tf.keras.mixed_precision.LossScaleOptimizer):
                self.optimizer = tf.keras.mixed_precision.LossScaleOptimizer(self.optimizer)
"""


@pytest.mark.parametrize("text", [WRAPPER, ASKED])
def test_the_caller_decides_where_a_function_only_wraps_an_optimizer(text: str) -> None:
    found = read_by(KERAS, text)
    assert found["precision.enabled"] == "caller"
    assert found["precision.dtypes"] == ("float16",)
    assert "precision.compute_dtype" not in found


def test_a_program_that_calls_the_function_sets_the_policy_itself() -> None:
    own = WRAPPER + (
        "\n\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(2)])\n"
        'model.compile(optimizer_of(0.1), "mse")\n'
    )
    assert "precision.enabled" not in read_by(KERAS, own)


def test_a_policy_in_the_same_program_decides() -> None:
    own = WRAPPER + '\n\ntf.keras.mixed_precision.set_global_policy("float32")\n'
    assert read_by(KERAS, own).get("precision.enabled") != "caller"


def test_the_wrapper_of_a_module_that_trains_in_bfloat16_decides_nothing() -> None:
    own = WRAPPER + (
        "\n\ndef step(model, optimizer, rows, labels):\n"
        "    rows = tf.cast(rows, tf.bfloat16)\n"
        "    with tf.GradientTape() as tape:\n"
        "        loss = tf.reduce_mean(model(rows) - labels)\n"
        "    grads = tape.gradient(loss, model.trainable_variables)\n"
        "    optimizer.apply_gradients(zip(grads, model.trainable_variables))\n"
    )
    found = read_by(KERAS, own)
    assert found["precision.enabled"] == "always"
    assert found["precision.dtypes"] == ("bfloat16",)
