"""The optimizers a recipe can name. Their formulas stand at `crosscast.plan.operations.Step`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from crosscast.recipe.section import Fraction, Glob, NonNegative, Positive, Role, Section

OneToThe = Annotated[float, Field(le=0)]
EpsPlacement = Literal["after_correction", "before_correction"]


class ParameterGroup(Section):
    """Parameters, chosen by name, with a decay or a rate of their own."""

    parameters: Annotated[tuple[Glob, ...], Field(min_length=1)]
    """Patterns like `bert.embeddings.*` (`*`, `?`, `[abc]`, `[!abc]`) for the names of the
    parameters: those of Hugging Face for the shipped BERT, the framework's own for a custom model.
    At most 200 letters, digits and characters of `_ . / : - * ? [ ] !`."""
    weight_decay: NonNegative | None = None
    """Instead of the optimizer's, whatever `no_decay` says; left out, nothing changes."""
    rate_factor: NonNegative = 1.0
    """The learning rate of these parameters is that of the schedule times this."""


class _Optimizer(Section):
    """What all optimizers have."""

    name: str
    learning_rate: Positive
    no_decay: tuple[Role, ...] = ()
    """Roles of parameters without decay."""
    groups: tuple[ParameterGroup, ...] = ()
    """The first group with a pattern that matches decides about a parameter."""


class Sgd(_Optimizer):
    """Stochastic gradient descent."""

    name: Literal["sgd"]
    momentum: Fraction = 0.0
    nesterov: bool = False
    rate_in_momentum: bool = False
    """The learning rate multiplies gradients before they enter the momentum (Keras), not the
    momentum (PyTorch). The two differ while the rate changes."""
    weight_decay: NonNegative = 0.0
    """Coupled (L2): added to the gradient after clipping."""


class Adam(_Optimizer):
    """Adam with coupled weight decay."""

    name: Literal["adam"]
    betas: tuple[Fraction, Fraction] = (0.9, 0.999)
    """Two numbers above 0: shares that gradients and their squares keep."""
    eps: Positive = 1e-8
    """One number, at least 1.18e-38: less counts as 0 in float32."""
    eps_placement: EpsPlacement = "after_correction"
    """Added to the root of the corrected second moment (PyTorch), or of the raw one (Keras)."""
    bias_correction: bool = True
    """Original BERT has none."""
    weight_decay: NonNegative = 0.0
    """Coupled (L2): added to the gradient after clipping."""


class AdamW(_Optimizer):
    """Adam with decoupled decay: w times (1 - learning_rate * weight_decay)."""

    name: Literal["adamw"]
    betas: tuple[Fraction, Fraction] = (0.9, 0.999)
    """Two numbers above 0: shares that gradients and their squares keep."""
    eps: Positive = 1e-8
    """One number, at least 1.18e-38: less counts as 0 in float32."""
    eps_placement: EpsPlacement = "after_correction"
    """Added to the root of the corrected second moment (PyTorch), or of the raw one (Keras)."""
    bias_correction: bool = True
    """Original BERT has none."""
    weight_decay: NonNegative = 0.01
    no_decay: tuple[Role, ...] = ("bias", "layer_norm")
    """Roles of parameters without decay."""


class Lamb(_Optimizer):
    """AdamW whose step of every parameter is as long as the parameter, times the rate."""

    name: Literal["lamb"]
    betas: tuple[Fraction, Fraction] = (0.9, 0.999)
    """Two numbers above 0: shares that gradients and their squares keep."""
    eps: Positive = 1e-6
    """One number, at least 1.18e-38: less counts as 0 in float32."""
    bias_correction: bool = True
    weight_decay: NonNegative = 0.01
    """Within the step whose length is adapted."""
    no_decay: tuple[Role, ...] = ("bias", "layer_norm")
    """Roles of parameters without decay."""
    always_adapt: bool = True
    """Adapt the length for parameters without decay, too."""


class Lion(_Optimizer):
    """The sign of an average of gradient and momentum, with decoupled decay."""

    name: Literal["lion"]
    betas: tuple[Fraction, Fraction] = (0.9, 0.99)
    """Two numbers above 0: what the momentum weighs in the sign, and what it keeps."""
    weight_decay: NonNegative = 0.0
    """Decoupled: w times (1 - learning_rate * weight_decay)."""


class Adafactor(_Optimizer):
    """Second moments of matrices kept as one row and one column, steps as long as the weights."""

    name: Literal["adafactor"]
    beta2_decay: OneToThe = -0.8
    """The share of the new gradient in the second moments is t to the power of this."""
    eps: tuple[Positive, Positive] = (2.0**-23, 1e-3)
    """Two numbers: lowest root of a second moment, at least 1e-19, and lowest root mean square of
    a parameter."""
    clip_threshold: Annotated[float, Field(ge=1)] = 1.0
    """Highest root mean square of a direction."""
    weight_decay: NonNegative = 0.0
    """Decoupled: w times (1 - learning_rate * weight_decay)."""


Optimizer = Annotated[Sgd | Adam | AdamW | Lamb | Lion | Adafactor, Field(discriminator="name")]
