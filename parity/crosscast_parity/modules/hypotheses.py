"""Known differences as data: what a step would return with each choice.

A row says which steps it explains and yields the results of all its choices. The choice whose
result is what was recorded names what a framework does; two frameworks that do different things
have a known difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from crosscast_parity.modules.choices_functions import (
    activations,
    factors,
    gates,
    positions,
    sums,
)
from crosscast_parity.modules.choices_images import convolutions, pools, resizes
from crosscast_parity.modules.choices_norms import (
    batch_norms,
    group_norms,
    layer_norms,
    rms_norms,
)
from crosscast_parity.modules.choices_sequences import attentions, lstms
from crosscast_parity.modules.steps import Step

Choices = Iterator[tuple[str, np.ndarray]]


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A known difference.

    `kinds`: what it is called; with several, names of choices are so many parts, with commas
    between, and the first part that differs says which kind it is. `choices`: yields nothing for a
    step that it does not know. `inputs`: whether it needs what a step got.
    """

    kinds: tuple[str, ...]
    choices: Callable[[Step], Choices]
    inputs: bool = True

    def parts(self, name: str) -> tuple[str, ...]:
        """Return the parts of the name of a choice."""
        return tuple(name.split(", ")) if len(self.kinds) > 1 else (name,)


NORMS = (
    Hypothesis(("epsilon of BatchNorm",), batch_norms),
    Hypothesis(("epsilon of LayerNorm",), layer_norms),
    Hypothesis(("epsilon of RMSNorm",), rms_norms),
    Hypothesis(("groups of GroupNorm", "epsilon of GroupNorm"), group_norms),
)
TABLE = (
    Hypothesis(
        ("stride of a convolution", "dilation of a convolution", "padding of a convolution"),
        convolutions,
    ),
    Hypothesis(
        (
            "window of a pooling",
            "stride of a pooling",
            "ceil mode of a pooling",
            "padding of a pooling",
            "pooling that counts padding",
        ),
        pools,
    ),
    Hypothesis(("resizing",), resizes),
    *NORMS,
    Hypothesis(("first position",), positions, inputs=False),
    Hypothesis(("activation",), activations),
    Hypothesis(("activation of a gate",), gates),
    Hypothesis(("scale of attention", "mask of attention"), attentions),
    Hypothesis(("order of gates",), lstms),
    Hypothesis(("a factor",), factors),
    Hypothesis(("a factor in a sum",), sums),
)
