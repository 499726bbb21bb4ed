"""Emitted scripts for JAX: what a chain of transformations is called in a recipe.

One chain may be that of several recipes that mean the same: AdamW without decay is Adam, and LAMB
without a trust ratio, too. Then it has the plainer name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAMES = (
    ("scale_by_adafactor(", "adafactor"),
    ("scale_by_lion(", "lion"),
    ("scale_by_trust_ratio(", "lamb"),
)
_KNOWN = frozenset(
    {
        *("chain", "identity", "trace", "masked", "add_decayed_weights", "scale_by_trust_ratio"),
        *("scale_by_adam", "scale_by_lion", "scale_by_adafactor", "scale_by_momentum"),
        *("add_decay", "scale_rates", "settings", "decays", "map"),
    }
)
"""What `make_optimizer` calls; a chain with anything else is of no recipe."""
_TRANSFORMATIONS = _KNOWN - {"settings", "decays", "map", "masked", "chain"}
_CALLED = re.compile(r"(?<!\w)(\w{1,60})\(")
_DECAY = re.compile(r"\badd_decay(?:ed_weights)?\(")


@dataclass(frozen=True, slots=True)
class OptaxChain:
    """The chain that `make_optimizer` returns."""

    body: str
    """Code of that function."""
    own: str
    """Code of the transformations that the script defines itself."""

    @property
    def name(self) -> str:
        """Name of the optimizer in a recipe; empty if it is none of them."""
        called = set(_CALLED.findall(self.body))
        if not called <= _KNOWN or not called & _TRANSFORMATIONS:
            return ""
        known = next((name for mark, name in _NAMES if mark in self.body), "")
        if known or "scale_by_adam(" not in self.body:
            return known or "sgd"
        decay = _DECAY.search(self.body)
        behind = decay is not None and decay.start() > self.body.index("scale_by_adam(")
        return "adamw" if behind else "adam"

    @property
    def rate_inside(self) -> bool:
        """Whether the momentum holds the learning rate."""
        return "scale_by_momentum(" in self.body

    @property
    def nesterov(self) -> bool:
        """Whether the momentum looks ahead."""
        return "nesterov=True" in self.body or "MOMENTUM * b - s, trace" in self.own

    @property
    def corrected(self) -> bool:
        """Whether the bias of moments is corrected."""
        return "def scale_by_adam" not in self.own or "correction" in self.own

    @property
    def raw_epsilon(self) -> bool:
        """Whether epsilon is added before the correction."""
        return "root_correction / correction * m" in self.own

    @property
    def always_adapts(self) -> bool:
        """Whether the trust ratio is also for weights without decay."""
        every = "scale_by_trust_ratio(" in self.body and "optax.masked(" not in self.body
        differ = "decays(model)" in self.body or "(amounts)" in self.body
        return every and (differ or not _DECAY.search(self.body))
