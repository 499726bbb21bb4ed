"""Roles of weights as emitted code tells them: by the module that holds them, and by name."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

_LAYERS = {
    "layer_norm": ("nnx.LayerNorm", "nnx.RMSNorm"),
    "embedding": ("nnx.Embed",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Spared:
    """The weights that weight decay or clipping leave out."""

    modules: tuple[str, ...]
    """Classes of modules, as code, all of whose weights are left out."""
    biases: bool
    """Whether biases of every module are."""

    @property
    def classes(self) -> str:
        """The second argument of isinstance, as code."""
        return self.modules[0] if len(self.modules) == 1 else f"({', '.join(self.modules)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A function of the script that tells of every weight whether something applies to it."""

    name: str
    doc: str
    spared: Spared


def spared(roles: Collection[str]) -> Spared | None:
    """Return the weights with one of these roles; None for no roles."""
    if not roles:
        return None
    modules = tuple(name for role, names in _LAYERS.items() if role in roles for name in names)
    return Spared(modules=modules, biases="bias" in roles)
