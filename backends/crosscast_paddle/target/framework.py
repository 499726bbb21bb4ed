"""Paddle as scripts and checkpoints show it."""

from __future__ import annotations

from crosscast.targets.framework import Framework, ModelTest, OwnModel, Weights

FRAMEWORK = Framework(
    module="paddle",
    word="paddle",
    weights=Weights(
        kernel="(in, out)",
        own="those of `state_dict()`",
        evidence="frameworks/test_state_convert.py::test_own_models_go_on_by_a_map",
    ),
    own_model=OwnModel(
        imported="from paddle import nn",
        returns="nn.Layer",
        called="model(input_ids=..., ...), one keyword an array of the npz file but labels",
        answer="a paddle.Tensor of logits [rows, classes]",
        test=ModelTest(
            imported="import paddle",
            learns="any(not weight.stop_gradient for weight in build_model().parameters())",
            outputs="build_model()"
            "(**{name: paddle.to_tensor(rows) for name, rows in ROWS.items()})",
        ),
    ),
    optimizers=("paddle.optimizer.{}",),
    clip="paddle.nn.ClipGradByGlobalNorm",
)
