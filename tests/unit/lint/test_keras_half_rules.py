"""Rules about float16 of Keras and TensorFlow: scalers that are added or missing."""

from __future__ import annotations

import pytest

from .lint_results import codes

POLICY = """
import keras
import tensorflow as tf
{policy}
strategy = {strategy}
with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(2, dtype="float32")])
    model.compile(keras.optimizers.Adam(1e-3), loss="mse"{more})
model.fit(x, y)
"""
HALF = "keras.mixed_precision.set_dtype_policy('mixed_float16')"


@pytest.mark.parametrize(
    ("policy", "strategy", "more", "found"),
    [
        (HALF, "tf.distribute.MirroredStrategy()", "", True),
        (HALF.replace("mixed_precision", "config"), "tf.distribute.MirroredStrategy()", "", True),
        (HALF, "tf.distribute.MirroredStrategy()", ", auto_scale_loss=False", False),
        (HALF.replace("float16", "bfloat16"), "tf.distribute.MirroredStrategy()", "", False),
        (HALF.replace("set_dtype", "set_global"), "tf.distribute.MirroredStrategy()", "", False),
        (HALF, "tf.distribute.get_strategy()", "", False),
    ],
)
def test_a_scaler_that_compile_adds(policy: str, strategy: str, more: str, found: bool) -> None:
    text = POLICY.format(policy=policy, strategy=strategy, more=more)
    assert ("CL704" in codes(text)) is found


OPTION = """
import tensorflow as tf
from tensorflow.core.protobuf import rewriter_config_pb2
config = tf.compat.v1.ConfigProto()
{option}
optimizer = tf.compat.v1.train.AdamOptimizer(1e-3)
{wrap}
train = optimizer.{apply}(loss)
with tf.compat.v1.Session(config=config) as session:
    session.run(train)
"""
SET = "tf.config.optimizer.set_experimental_options({'auto_mixed_precision': %s})"
ATTRIBUTE = "config.graph_options.rewrite_options.auto_mixed_precision = %s"


@pytest.mark.parametrize(
    ("option", "wrap", "apply", "found"),
    [
        (SET % "True", "", "minimize", True),
        (SET % "FLAGS.half", "", "minimize", True),
        (SET % "False", "", "minimize", False),
        (SET.replace("precision'", "precision_onednn_bfloat16'") % "True", "", "minimize", False),
        (ATTRIBUTE % "1", "", "minimize", True),
        (ATTRIBUTE % "rewriter_config_pb2.RewriterConfig.ON", "", "minimize", True),
        (ATTRIBUTE % "rewriter_config_pb2.RewriterConfig.OFF", "", "minimize", False),
        (SET % "True", "optimizer = wrap(optimizer, loss_scale=128)", "minimize", False),
        (SET % "True", "optimizer = tf.train.experimental.FixedLossScale(8)", "minimize", False),
        (SET % "True", "", "variables", False),
        (
            SET % "True",
            "import os\nos.environ['TF_ENABLE_AUTO_MIXED_PRECISION'] = '1'",
            "minimize",
            False,
        ),
    ],
)
def test_options_that_scale_nothing(option: str, wrap: str, apply: str, found: bool) -> None:
    text = OPTION.format(option=option, wrap=wrap, apply=apply)
    assert ("CL716" in codes(text)) is found
