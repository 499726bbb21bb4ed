"""Print what is asked for masks by each way to drop: `run_masked_layers.py FRAMEWORK`, as JSON.

{"reached": {NAME: {"shape": [2, 4], "same": true}}, "out_of_reach": [NAME, ...]}

"same": whether what comes out is what the masks say, for ways that only drop.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from crosscast_parity.inside.masks import Masks
from crosscast_parity.inside.modules import module_of
from crosscast_parity.inside.philox import uniform

SEED, RATE = 7, 0.25
Way = Callable[[Any], Any]


def torch_ways() -> tuple[dict[str, Way], Any, Callable[..., Any]]:
    """Return ways to drop ones, a model with those out of reach, and what makes ones."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    def attention(x: Any) -> Any:
        return F.scaled_dot_product_attention(x, x, x, dropout_p=RATE)

    ways: dict[str, Way] = {
        "F.dropout": lambda x: F.dropout(x, RATE),
        "nn.Dropout": nn.Dropout(RATE),
        "nn.Dropout, in place": nn.Dropout(RATE, inplace=True),
        "nn.Dropout2d": nn.Dropout2d(RATE),
        "attention": attention,
    }
    model = nn.ModuleDict(
        {
            "lstm": nn.LSTM(4, 4, 2, dropout=RATE),
            "gru": nn.GRU(4, 4, 2, dropout=RATE),
            "alpha": nn.AlphaDropout(RATE),
            "single": nn.LSTM(4, 4),
            "plain": nn.Dropout(RATE),
        }
    )
    return ways, model, lambda *shape: torch.ones(*shape)


def paddle_ways() -> tuple[dict[str, Way], Any, Callable[..., Any]]:
    """Return the same of Paddle."""
    import paddle
    from paddle import nn
    from paddle.nn import functional as F

    ways: dict[str, Way] = {
        "F.dropout": lambda x: F.dropout(x, RATE),
        "nn.Dropout": nn.Dropout(RATE),
        "nn.Dropout2D": nn.Dropout2D(RATE),
    }
    model = nn.LayerDict(
        {
            "lstm": nn.LSTM(4, 4, 2, dropout=RATE),
            "gru": nn.GRU(4, 4, 2, dropout=RATE),
            "alpha": nn.AlphaDropout(RATE),
            "single": nn.LSTM(4, 4),
            "plain": nn.Dropout(RATE),
        }
    )
    return ways, model, lambda *shape: paddle.ones(shape)


def tensorflow_ways() -> tuple[dict[str, Way], Any, Callable[..., Any]]:
    """Return the same of TensorFlow."""
    import keras
    import tensorflow as tf

    ways: dict[str, Way] = {
        "tf.nn.dropout": lambda x: tf.nn.dropout(x, RATE),
        "stateless": lambda x: tf.nn.experimental.stateless_dropout(x, RATE, seed=(1, 2)),
        "Dropout": lambda x: keras.layers.Dropout(RATE)(x, training=True),
        "SpatialDropout2D": lambda x: keras.layers.SpatialDropout2D(
            RATE, data_format="channels_last"
        )(x, training=True),
        "uniform": lambda x: tf.where(
            tf.random.stateless_uniform(x.shape, (1, 2)) < RATE, 0.0, x / (1 - RATE)
        ),
    }
    return ways, None, lambda *shape: tf.ones(shape)


WAYS = {"torch": torch_ways, "paddle": paddle_ways, "tensorflow": tensorflow_ways}


def main() -> None:
    """Drop ones in every way."""
    ways, model, ones = WAYS[sys.argv[1]]()
    framework = module_of(f"crosscast_{sys.argv[1]}.inside", "masks")
    reached = {}
    lost: list[str] = []
    for name, way in ways.items():
        masks = Masks(SEED)
        dropout = framework.make_dropout(masks)
        lost = dropout.begin(model)
        masks.begin_window(0)
        masks.forward = True
        dropout.enter()
        found = np.asarray(way(ones(2, 3, 4, 4)))
        dropout.undo()
        (call,) = masks.calls
        numbers = uniform(SEED, (0, 0, 0), int(np.prod(call["shape"])))
        given = np.broadcast_to(masks.kept(numbers, RATE).reshape(call["shape"]), found.shape)
        same = bool(np.allclose(found, given, rtol=1e-6))
        reached[name] = {"shape": call["shape"], "same": same}
    print(json.dumps({"reached": reached, "out_of_reach": lost}))


if __name__ == "__main__":
    main()
