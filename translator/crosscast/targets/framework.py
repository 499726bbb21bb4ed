"""What states, lifting and migration must know of a framework: names, weights, users' models."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """How emitted scripts of a framework keep weights, with a test that shows it."""

    kernel: str
    """Layout of the kernel of a dense layer inside the framework."""
    own: str
    """What its checkpoints call the weights of a model of one's own; those of the shipped BERT
    have the names of Hugging Face and PyTorch's layout everywhere."""
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnModel:
    """How an emitted script calls a model of one's own."""

    imported: str
    returns: str
    called: str
    answer: str
    fresh: str = "with fresh weights"


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """A framework as scripts and checkpoints show it."""

    module: str
    """Name under which its scripts import it."""
    word: str
    """Value of the fact `framework`, by which readers tell it."""
    weights: Weights
    own_model: OwnModel
    optimizers: tuple[str, ...] = ()
    """APIs of its optimizers, with `{}` for their names; they have rows in the defaults."""
    clip: str = ""
    """API that clips by the norm of all gradients; it has a row in the defaults."""
