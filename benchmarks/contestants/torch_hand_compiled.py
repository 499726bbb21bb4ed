"""The hand-written loop of PyTorch with its model compiled."""

from __future__ import annotations

from functools import partial

from contestants import torch_hand

train = partial(torch_hand.train, compiled=True)
