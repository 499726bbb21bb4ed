"""The optimizers of a recipe. `crosscast.plan.operations.Step` documents their formulas."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from crosscast.recipe.section import (
    BELOW_ONE,
    LARGEST,
    ROOT_OF_SMALLEST,
    Fraction,
    Glob,
    Positive,
    Rate,
    RateOrZero,
    Role,
    Section,
)

# Lion takes the sign of a moment times a beta, which should not become subnormal: TensorFlow
# computes with 0 instead.
Beta = Annotated[float, Field(ge=ROOT_OF_SMALLEST, le=BELOW_ONE)]
# Its square, the minimum second moment, is a normal float32 number, too.
RootOfMoment = Annotated[float, Field(ge=ROOT_OF_SMALLEST, le=1 / ROOT_OF_SMALLEST)]
OneToThe = Annotated[float, Field(le=0)]
EpsPlacement = Literal["after_correction", "before_correction"]


class ParameterGroup(Section):
    """Parameters, selected by name, with their own weight decay or learning rate."""

    parameters: Annotated[tuple[Glob, ...], Field(min_length=1)]
    """Patterns such as `bert.embeddings.*` (`*`, `?`, `[abc]`, `[!abc]`) for the names of the
    parameters: those of Hugging Face for the shipped BERT, those of the framework for a custom
    model. At most 200 letters, digits and characters of `_ . / : - * ? [ ] !`."""
    weight_decay: RateOrZero | None = None
    """Overrides the weight decay of the optimizer and `no_decay`; if missing, nothing changes."""
    rate_factor: RateOrZero = 1.0
    """Factor for the learning rate of these parameters."""


class _Optimizer(Section):
    """Fields of all optimizers."""

    name: str
    learning_rate: Rate
    no_decay: tuple[Role, ...] = ()
    """Roles of parameters without weight decay."""
    groups: tuple[ParameterGroup, ...] = ()
    """Parameter groups; the first group with a matching pattern applies to a parameter."""


class Sgd(_Optimizer):
    """Stochastic gradient descent."""

    name: Literal["sgd"]
    momentum: Fraction = 0.0
    nesterov: bool = False
    rate_in_momentum: bool = False
    """Multiply gradients by the learning rate before they are added to the momentum (Keras),
    instead of multiplying the momentum (PyTorch). The two differ while the rate changes."""
    weight_decay: RateOrZero = 0.0
    """Coupled (L2) decay, added to the gradient after clipping."""


class Adam(_Optimizer):
    """Adam with coupled weight decay."""

    name: Literal["adam"]
    betas: tuple[Beta, Beta] = (0.9, 0.999)
    """The decay rates of the first and second moment."""
    eps: Positive = 1e-8
    """Without it, weights without a gradient would become nan."""
    eps_placement: EpsPlacement = "after_correction"
    """Whether epsilon is added to the square root of the corrected second moment (PyTorch) or of
    the uncorrected one (Keras)."""
    bias_correction: bool = True
    """The original BERT uses none."""
    weight_decay: RateOrZero = 0.0
    """Coupled (L2) decay, added to the gradient after clipping."""


class AdamW(_Optimizer):
    """Adam with decoupled weight decay: w * (1 - learning_rate * weight_decay)."""

    name: Literal["adamw"]
    betas: tuple[Beta, Beta] = (0.9, 0.999)
    """The decay rates of the first and second moment."""
    eps: Positive = 1e-8
    """Without it, weights without a gradient would become nan."""
    eps_placement: EpsPlacement = "after_correction"
    """Whether epsilon is added to the square root of the corrected second moment (PyTorch) or of
    the uncorrected one (Keras)."""
    bias_correction: bool = True
    """The original BERT uses none."""
    weight_decay: RateOrZero = 0.01
    no_decay: tuple[Role, ...] = ("bias", "layer_norm")
    """Roles of parameters without weight decay."""


class Lamb(_Optimizer):
    """AdamW with layer-wise adaptation: the step of every parameter has the norm of the parameter,
    times the learning rate."""

    name: Literal["lamb"]
    betas: tuple[Beta, Beta] = (0.9, 0.999)
    """The decay rates of the first and second moment."""
    eps: Positive = 1e-6
    """Without it, weights without a gradient would become nan."""
    bias_correction: bool = True
    weight_decay: RateOrZero = 0.01
    """Decay that is part of the adapted step."""
    no_decay: tuple[Role, ...] = ("bias", "layer_norm")
    """Roles of parameters without weight decay."""
    always_adapt: bool = True
    """Also adapt the step of parameters without decay."""


class Lion(_Optimizer):
    """Lion: the sign of an average of gradient and momentum, with decoupled weight decay."""

    name: Literal["lion"]
    betas: tuple[Beta, Beta] = (0.9, 0.99)
    """The weight of the momentum in the sign, and its decay rate."""
    weight_decay: RateOrZero = 0.0
    """Decoupled decay: w * (1 - learning_rate * weight_decay)."""


class Adafactor(_Optimizer):
    """Adafactor: factored second moments, and steps relative to the size of the weights."""

    name: Literal["adafactor"]
    beta2_decay: OneToThe = -0.8
    """In step t, the new gradient enters the second moments with the weight t ** beta2_decay."""
    eps: tuple[RootOfMoment, Positive] = (2.0**-23, 1e-3)
    """The minimum square root of a second moment, and the minimum root mean square of a
    parameter."""
    clip_threshold: Annotated[float, Field(ge=1, le=LARGEST)] = 1.0
    """Maximum root mean square of a step direction."""
    weight_decay: RateOrZero = 0.0
    """Decoupled decay: w * (1 - learning_rate * weight_decay)."""


Optimizer = Annotated[Sgd | Adam | AdamW | Lamb | Lion | Adafactor, Field(discriminator="name")]
