"""The recipe: a framework-neutral, versioned description of a training run.

Every optional value is either a default here or derived by `crosscast.recipe.derive` before
validation, so a loaded `Recipe` is complete. Default sections are constructed without validation,
which would build a validator for each of them at import.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from crosscast.recipe.data import CustomData, Data, ImageData, NpzData, PaddedData, SyntheticData
from crosscast.recipe.launch import Launch
from crosscast.recipe.loss import (
    BinaryCrossEntropy,
    CrossEntropy,
    CustomLoss,
    Loss,
    MeanSquaredError,
)
from crosscast.recipe.metrics import Metrics
from crosscast.recipe.model import (
    BERT_PRESETS,
    Batch,
    BertModel,
    CustomModel,
)
from crosscast.recipe.optimizer import (
    Adafactor,
    Adam,
    AdamW,
    Lamb,
    Lion,
    Optimizer,
    ParameterGroup,
    Sgd,
)
from crosscast.recipe.section import (
    Count,
    CountOrZero,
    Fraction,
    LossScale,
    NonNegative,
    Positive,
    RateOrZero,
    Role,
    Section,
    Slug,
)
from crosscast.recipe.tracking import Tracking

__all__ = [
    "BERT_PRESETS",
    "VERSION",
    "Accumulation",
    "Adafactor",
    "Adam",
    "AdamW",
    "Batch",
    "BertModel",
    "BinaryCrossEntropy",
    "CrossEntropy",
    "CustomData",
    "CustomLoss",
    "CustomModel",
    "Data",
    "Distributed",
    "DynamicLossScaling",
    "Ema",
    "GlobalNormClipping",
    "ImageData",
    "Lamb",
    "Launch",
    "Lion",
    "Loss",
    "MeanSquaredError",
    "Metrics",
    "NoClipping",
    "NoLossScaling",
    "NpzData",
    "OpTypes",
    "Optimizer",
    "PaddedData",
    "ParameterGroup",
    "PerParamNormClipping",
    "Precision",
    "Recipe",
    "Role",
    "Schedule",
    "Section",
    "Sgd",
    "StaticLossScaling",
    "SyntheticData",
    "Tracking",
    "ValueClipping",
]

VERSION = 2
OpType = Literal["half", "float32", "float32_stored_half"]
Policy = Literal["stored_half", "float32_stream", "autocast", "keras"]


class OpTypes(Section):
    """Dtype of each class of operations in the shipped BERT, if precision.mode is not none; derived
    from `precision.policy` where missing.

    `half`: the operation gets and returns `precision.compute_dtype`; what it computes in is up to
    the framework's kernel. `float32`: it gets and returns float32. `float32_stored_half`: it
    computes in float32 and rounds its result once, to `precision.compute_dtype`. With a model of
    your own they say what your model stores in half, and a comparison holds it to that; the script
    does not act on them, but for JAX, where it sets the types of layers (CC410)."""

    matmul: OpType = "half"
    """Dense layers and the two matrix products of attention."""
    pointwise: OpType = "float32"
    """GELU, tanh and dropout."""
    reductions: OpType = "float32"
    """Softmax and LayerNorm."""
    embeddings: OpType = "float32"
    """The three embedding lookups and their sum."""
    losses: OpType = "float32"
    """Cross-entropy of every row; the sum and mean over rows are float32."""
    residual: Literal["half", "float32"] = "float32"
    """The sums of the residual stream: of what a layer gets and what it computed from it."""


class Precision(Section):
    """Precision of the computation."""

    mode: Literal["none", "mixed", "full"] = "none"
    """`none`: float32 throughout. `mixed`: matmul-class operations in `compute_dtype`, weights in
    float32. `full`: weights in `compute_dtype` as well, except those of normalization layers; the
    optimizer updates float32 master weights."""
    compute_dtype: Literal["float32", "float16", "bfloat16"] = "float32"
    param_dtype: Literal["float32"] = "float32"
    """Dtype of the weights that the optimizer updates, and of its moments."""
    policy: Policy = "float32_stream"
    """Dtypes of the classes in `ops` that are not set there. `stored_half`: all results are stored
    in half, long sums are computed in float32; derived for the shipped BERT in half precision.
    `float32_stream`: only matrix products are half, as in version 1. `autocast`: as PyTorch's
    autocast on GPUs and Paddle's level O1. `keras`: as the policies mixed_float16 and
    mixed_bfloat16."""
    ops: OpTypes = OpTypes.model_construct()
    tf32: bool = False
    """Allow TensorFloat-32 in float32 matmuls on GPUs that support it."""


class DynamicLossScaling(Section):
    """Loss scale that backs off on overflow and grows after clean steps."""

    mode: Literal["dynamic"]
    init_scale: LossScale = 65536.0
    growth_factor: Annotated[float, Field(ge=1.001, le=65536)] = 2.0
    backoff_factor: Annotated[float, Field(ge=2.0**-16, le=0.999)] = 0.5
    """At most 0.999, so that every back-off changes the scale in float32."""
    growth_interval: Count = 2000
    """Number of consecutive steps without overflow before the scale grows."""
    hysteresis: Count = 1
    """Number of overflowed steps before the scale backs off."""
    hysteresis_mode: Literal["consecutive", "cumulative"] = "consecutive"
    """`consecutive`: a step without overflow or a back-off resets the count (Paddle). `cumulative`:
    only growth resets it, and until then every further overflow backs off (DeepSpeed, Megatron)."""
    min_scale: LossScale | None = 1.0
    """`null`: no lowest scale, as in torch.amp.GradScaler, paddle.amp.GradScaler and Keras 3. The
    emitted scripts stop when the scale falls below 2**-126."""
    max_scale: LossScale | None = None

    @property
    def floor(self) -> float:
        """The lowest scale, 0 if there is none."""
        return self.min_scale or 0.0


class StaticLossScaling(Section):
    """A constant loss scale; steps with non-finite gradients are still skipped."""

    mode: Literal["static"]
    scale: LossScale


class NoLossScaling(Section):
    """No loss scale and no check for inf and nan."""

    mode: Literal["none"]


class Accumulation(Section):
    """Gradient accumulation: the micro-batches of one optimizer step."""

    steps: Count
    """Micro-batches per optimizer step; derived if missing."""
    normalize_by: Literal["sample", "microbatch", "token"] = "sample"
    """Mean over the rows of the window, mean of the means of its micro-batches, or mean over the
    labels of the window that are not -100."""
    tail: Literal["flush_renormalized", "flush", "drop", "carry"] = "flush_renormalized"
    """What to do with a short window at the end of an epoch: step with its true mean, step with the
    divisor of a full window, drop it, or fill it from the next epoch."""
    dtype: Literal["float32", "compute"] = "float32"
    """Dtype of the accumulated gradients; `compute` needs precision.mode full."""


class NoClipping(Section):
    """Gradients are not clipped."""

    kind: Literal["none"]


class _Clipping(Section):
    exempt: tuple[Role, ...] = ()
    """Roles of parameters that are not clipped and not included in the norm."""


class GlobalNormClipping(_Clipping):
    """All gradients are multiplied by min(1, max_norm / (norm + eps)) with the norm of all
    gradients together."""

    kind: Literal["global_norm"]
    max_norm: Positive
    eps: NonNegative = 1e-6
    """1e-6 is PyTorch's formula; 0 gives max_norm / max(norm, max_norm)."""


class PerParamNormClipping(_Clipping):
    """Each gradient is multiplied by min(1, max_norm / (norm + eps)) with its own norm."""

    kind: Literal["per_param_norm"]
    max_norm: Positive
    eps: NonNegative = 1e-6
    """1e-6 is PyTorch's formula; 0 gives max_norm / max(norm, max_norm)."""


class ValueClipping(_Clipping):
    """Each gradient element is clamped to [-max_value, max_value]."""

    kind: Literal["value"]
    max_value: Positive


class Schedule(Section):
    """Learning rate schedule over the optimizer steps."""

    name: Literal["constant", "linear", "cosine", "polynomial", "inverse_sqrt"] = "constant"
    """After the warm-up: constant, decaying to `end_lr` at `total_steps`, or proportional to the
    inverse square root of the step (rate * sqrt(warmup_steps / step), which needs a warm-up)."""
    total_steps: Count
    """Number of windows in the run, and the length of the schedule."""
    warmup_steps: CountOrZero = 0
    """Number of steps of the linear warm-up from `warmup_start_lr`, the rate of the first step."""
    warmup_ratio: Annotated[float, Field(ge=0, le=1)] | None = None
    """Alternative to `warmup_steps`: the fraction of `total_steps`, rounded down."""
    warmup_start_lr: RateOrZero = 0.0
    """Rate of the first step of a warm-up. The formula `learning_rate * (step + 1) / n` is
    `warmup_steps: n - 1` with the rate `learning_rate / n` here."""
    end_lr: RateOrZero = 0.0
    power: Positive = 1.0
    """Exponent of the polynomial."""
    decay_from: Literal["warmup_end", "start"] = "warmup_end"
    """Step from which the decay is counted. `start` is the formula of the original BERT: at the end
    of the warm-up, the rate drops to the value of a decay from step 0."""
    tick: Literal["update", "attempt"] = "update"
    """Whether a skipped step advances the schedule (`attempt`) or not (`update`)."""


class Ema(Section):
    """Exponential moving average of the weights, evaluated in addition to them."""

    decay: Fraction | None = None
    """After every update, average = decay * average + (1 - decay) * weight. None: no average."""


class Distributed(Section):
    """Data parallelism. The number of processes is `nodes` x `processes_per_node`."""

    strategy: Literal["none", "data_parallel"] = "none"
    nodes: Annotated[int, Field(ge=1, le=2**16)] = 1
    """Number of machines with a shared file system; `launch` describes how they are started."""
    processes_per_node: Annotated[int, Field(ge=1, le=1024)] = 1


Model = Annotated[BertModel | CustomModel, Field(discriminator="kind")]
LossScaling = Annotated[
    DynamicLossScaling | StaticLossScaling | NoLossScaling, Field(discriminator="mode")
]
Clipping = Annotated[
    NoClipping | GlobalNormClipping | PerParamNormClipping | ValueClipping,
    Field(discriminator="kind"),
]


class Recipe(Section):
    """One training recipe, version 2."""

    version: Literal[2]
    name: Slug
    """Name of the run: 1 to 64 letters, digits, dots, dashes and underscores, starting with a
    letter or digit."""
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0
    """Random seed for the row order, initial weights and dropout; at most 2147483647."""
    model: Model
    data: Data
    loss: Loss = CrossEntropy.model_construct()
    metrics: Metrics = Metrics.model_construct()
    batch: Batch
    precision: Precision = Precision.model_construct()
    loss_scaling: LossScaling
    """Derived if missing: dynamic for float16, none otherwise."""
    accumulation: Accumulation
    clipping: Clipping = NoClipping.model_construct(kind="none")
    optimizer: Optimizer
    schedule: Schedule
    ema: Ema = Ema.model_construct()
    activation_checkpointing: bool = False
    """Keep only the inputs of encoder layers and recompute the rest in the backward pass."""
    distributed: Distributed = Distributed.model_construct()
    launch: Launch = Launch.model_construct()
    tracking: Tracking = Tracking.model_construct()
    overrides: dict[str, dict[str, Any]] = {}  # noqa: RUF012  (pydantic copies it)
    """Backend-specific settings by backend name, validated by the backend."""

    SECTIONS: ClassVar[tuple[str, ...]] = (
        "model",
        "data",
        "loss",
        "metrics",
        "batch",
        "precision",
        "loss_scaling",
        "accumulation",
        "clipping",
        "optimizer",
        "schedule",
        "ema",
        "distributed",
        "launch",
        "tracking",
    )

    @property
    def processes(self) -> int:
        """Data-parallel processes of the run."""
        return self.distributed.nodes * self.distributed.processes_per_node

    def without_tracking(self) -> Recipe:
        """Return the recipe for a run that is not the user's: a comparison, a measurement."""
        plain = {"tracking": Tracking()}
        return self.model_copy(update=plain) if self.tracking.used else self

    @property
    def scaling_on(self) -> bool:
        """Whether the loss is scaled."""
        return self.loss_scaling.mode != "none"

    @property
    def half(self) -> Literal["", "float16", "bfloat16"]:
        """The half type this recipe computes in; empty for none."""
        dtype = self.precision.compute_dtype
        return "" if dtype == "float32" else dtype
