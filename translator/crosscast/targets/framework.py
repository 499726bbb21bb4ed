"""Framework information for states, lifting and migration: names, weights, users' models."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Format of weights in emitted scripts of a framework, with a test as evidence."""

    kernel: str
    """Layout of the kernel of a dense layer inside the framework."""
    own: str
    """Naming of a custom model's weights in its checkpoints; those of the shipped BERT have the
    names of Hugging Face and PyTorch's layout in every framework."""
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTest:
    """What the test of a custom model that is still to be written says of `build_model()`."""

    imported: str = ""
    """A line; empty for none."""
    learns: str
    """Expression: true for a model with weights that learn."""
    outputs: str
    """Expression: the outputs for the NumPy arrays in `ROWS`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnModel:
    """How an emitted script calls a custom model."""

    imported: str
    returns: str
    called: str
    answer: str
    fresh: str = "with fresh weights"
    test: ModelTest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """Properties of a framework in scripts and checkpoints."""

    module: str
    """Import name."""
    word: str
    """Value of the fact `framework`."""
    weights: Weights
    own_model: OwnModel
    optimizers: tuple[str, ...] = ()
    """API of its optimizers, with `{}` for the name; they have rows in the defaults."""
    groups: bool = True
    """Whether its optimizers take groups of parameters with settings of their own."""
    tf32: tuple[bool, str] | None = None
    """Whether float32 products may round to TensorFloat-32 unless a program says otherwise, and the
    first version with this default; None if it changes from release to release."""
    clip: str = ""
    """API for clipping by the global norm; it has a row in the defaults."""
