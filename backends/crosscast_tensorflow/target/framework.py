"""TensorFlow and Keras as scripts and checkpoints show it."""

from __future__ import annotations

from crosscast.targets.framework import Framework, ModelTest, OwnModel, Weights

FRAMEWORK = Framework(
    module="tensorflow",
    word="tensorflow",
    weights=Weights(
        kernel="(in, out)",
        own="paths of variables: `net/dense/kernel`",
        evidence="frameworks/test_state_convert.py::test_own_models_go_on_by_a_map",
    ),
    own_model=OwnModel(
        imported="import keras",
        returns="keras.Model",
        called='model({"input_ids": ..., ...}, training=...), the arrays but labels',
        answer="a tensor of logits [rows, classes]",
        fresh="with its weights: call it once, or Keras makes them too late",
        test=ModelTest(
            learns="build_model().trainable_variables",
            outputs="build_model()(ROWS)",
        ),
    ),
    optimizers=("keras.optimizers.{}", "tensorflow.compat.v1.train.{}"),
    groups=False,
    tf32=(True, "2.4"),  # tf.config.experimental.tensor_float_32_execution_enabled
    clip="tensorflow.clip_by_global_norm",
)
