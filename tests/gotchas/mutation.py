"""A fault that is written into emitted code."""

from __future__ import annotations

from dataclasses import dataclass

TORCH, TENSORFLOW, PADDLE, JAX = "torch", "tensorflow", "paddle", "jax"
ALL = (TORCH, TENSORFLOW, PADDLE, JAX)
Edits = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Mutation:
    """A number of semantics, and the edits that bring its fault back."""

    gotcha: int
    """Number in the registry."""
    fault: str
    recipe: str
    edits: Edits
    target: str = ""
    adaptation: str = ""
    """Name of the adaptation of a row that the edits take out, if they take out one."""

    @property
    def name(self) -> str:
        """Name of its folder and of its test."""
        return f"{self.target}-{self.gotcha}-{self.fault.replace(' ', '-')}"

    def apply(self, text: str) -> str:
        """Return the step with the fault.

        Raises:
            AssertionError: The emitted text has changed, and the mutation must follow.
        """
        for old, new in self.edits:
            assert old in text, f"{self.name}: not in the emitted step: {old!r}"
            text = text.replace(old, new)
        return text
