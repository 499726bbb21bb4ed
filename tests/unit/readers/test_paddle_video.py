"""Which configurations are not PaddleVideo's."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_paddle.reading.paddle_yaml import READER

VIDEO = """\
MODEL:
  framework: "Recognizer2D"
  head: {name: Head, num_classes: 5}
DATASET:
  batch_size: 8
PIPELINE:
  train: {decode: {name: Decoder}}
OPTIMIZER:
  name: 'Momentum'
  momentum: 0.9
  learning_rate:
    name: 'PiecewiseDecay'
    boundaries: [10, 20]
    values: [0.01, 0.001, 0.0001]
  weight_decay: {name: 'L2', value: 0.0002}
  grad_clip: {name: 'global', value: 2.0}
GRADIENT_ACCUMULATION:
  global_batch_size: 64
epochs: 30
"""


@pytest.mark.parametrize(("old", "new"), [("framework:", "kind:"), ("PIPELINE:", "LOADER:")])
def test_sections_of_others(old: str, new: str) -> None:
    assert READER.sniff(Source("c.yaml", VIDEO))
    assert not READER.sniff(Source("c.yaml", VIDEO.replace(old, new)))
