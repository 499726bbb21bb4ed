"""The recipe: one training run in neutral terms. Frozen, versioned, without hidden values.

Field names are the field's most common words (docs/recipe.md). Every value that a file may leave
out is either a default here or derived by `crosscast.recipe.derive` before validation, so a loaded
`Recipe` says everything it means.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from crosscast.recipe.launch import Launch
from crosscast.recipe.model import (
    BERT_PRESETS,
    Batch,
    BertModel,
    CustomModel,
    NpzData,
    SyntheticData,
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
    Role,
    Section,
    Slug,
)

__all__ = [
    "BERT_PRESETS",
    "VERSION",
    "Accumulation",
    "Adafactor",
    "Adam",
    "AdamW",
    "Batch",
    "BertModel",
    "CustomModel",
    "Distributed",
    "DynamicLossScaling",
    "Ema",
    "GlobalNormClipping",
    "Lamb",
    "Launch",
    "Lion",
    "NoClipping",
    "NoLossScaling",
    "NpzData",
    "OpTypes",
    "Optimizer",
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
    "ValueClipping",
]

VERSION = 1
OpType = Literal["compute", "float32"]


class OpTypes(Section):
    """In which type each class of operations of the shipped BERT computes, where precision.mode
    is not none: `compute` is `precision.compute_dtype`."""

    matmul: OpType = "compute"
    """Dense layers and the two products of attention."""
    pointwise: OpType = "float32"
    """GELU, tanh, dropout and residual sums."""
    reductions: OpType = "float32"
    """Softmax and LayerNorm."""
    embeddings: OpType = "float32"
    """The three lookups and their sum."""
    losses: OpType = "float32"
    """Cross-entropy of every row; sum and mean of the rows are float32."""


class Precision(Section):
    """Number formats of the computation."""

    mode: Literal["none", "mixed", "full"] = "none"
    """`none`: float32 throughout. `mixed`: matmul-class operations in `compute_dtype`, weights in
    float32. `full`: also the weights the model computes with, except those of normalization
    layers; the optimizer updates float32 copies of them."""
    compute_dtype: Literal["float32", "float16", "bfloat16"] = "float32"
    param_dtype: Literal["float32"] = "float32"
    """Type of the weights that the optimizer updates, and of its moments."""
    ops: OpTypes = OpTypes()
    tf32: bool = False
    """Allow TensorFloat-32 in float32 matmuls on GPUs that have it."""


class DynamicLossScaling(Section):
    """Loss scale that backs off on overflow and grows after clean steps."""

    mode: Literal["dynamic"]
    init_scale: LossScale = 65536.0
    growth_factor: Annotated[float, Field(ge=1.001, le=65536)] = 2.0
    backoff_factor: Annotated[float, Field(ge=2.0**-16, le=0.999)] = 0.5
    """At most 0.999, so that every back-off changes the scale in float32."""
    growth_interval: Count = 2000
    """Clean optimizer steps in a row before the scale grows."""
    hysteresis: Count = 1
    """Overflowed steps before the scale backs off."""
    hysteresis_mode: Literal["consecutive", "cumulative"] = "consecutive"
    """`consecutive`: a clean step or a back-off starts the count anew (Paddle). `cumulative`: only
    growth does, and until then every further overflow backs off (DeepSpeed, Megatron)."""
    min_scale: LossScale = 1.0
    max_scale: LossScale | None = None


class StaticLossScaling(Section):
    """A constant loss scale; steps with non-finite gradients are still skipped."""

    mode: Literal["static"]
    scale: LossScale


class NoLossScaling(Section):
    """No loss scale and no finite check."""

    mode: Literal["none"]


class Accumulation(Section):
    """Micro-batches of one optimizer step."""

    steps: Count
    """Micro-batches per optimizer step; derived when left out."""
    normalize_by: Literal["sample", "microbatch", "token"] = "sample"
    """Mean over the window's rows, mean of the micro-batches' means, or mean over the window's
    labels that are not -100. The shipped BERT has one label a row; a model of your own may have
    labels [rows, tokens] and logits [rows, tokens, classes], with `token` only."""
    tail: Literal["flush_renormalized", "flush", "drop", "carry"] = "flush_renormalized"
    """A short window at the end of an epoch: step with its true mean, step with the divisor of a
    full window, leave it out, or fill it from the next epoch."""
    dtype: Literal["float32", "compute"] = "float32"
    """Type of the sum of gradients; `compute` needs precision.mode full."""


class NoClipping(Section):
    """Gradients are not clipped."""

    kind: Literal["none"]


class _Clipping(Section):
    exempt: tuple[Role, ...] = ()
    """Roles of parameters that are not clipped and do not count in the norm."""


class GlobalNormClipping(_Clipping):
    """All gradients times min(1, max_norm / (norm + eps)) with the norm of all together."""

    kind: Literal["global_norm"]
    max_norm: Positive
    eps: NonNegative = 1e-6
    """1e-6 is PyTorch's form; 0 is max_norm / max(norm, max_norm)."""


class PerParamNormClipping(_Clipping):
    """Each gradient times min(1, max_norm / (norm + eps)) with its own norm."""

    kind: Literal["per_param_norm"]
    max_norm: Positive
    eps: NonNegative = 1e-6
    """1e-6 is PyTorch's form; 0 is max_norm / max(norm, max_norm)."""


class ValueClipping(_Clipping):
    """Each gradient entry clamped to [-max_value, max_value]."""

    kind: Literal["value"]
    max_value: Positive


class Schedule(Section):
    """Learning rate over the optimizer steps."""

    name: Literal["constant", "linear", "cosine", "polynomial", "inverse_sqrt"] = "constant"
    """After the warm-up: constant, falling to `end_lr` at `total_steps`, or with the inverse
    square root of the step (rate * sqrt(warmup_steps / step), which needs a warm-up)."""
    total_steps: Count
    """Windows the run makes, and the length of the schedule."""
    warmup_steps: CountOrZero = 0
    """Steps of the linear warm-up from 0; the first of them has rate 0."""
    warmup_ratio: Annotated[float, Field(ge=0, le=1)] | None = None
    """Instead of `warmup_steps`: that share of `total_steps`, rounded down."""
    end_lr: NonNegative = 0.0
    power: Positive = 1.0
    """Exponent of the polynomial."""
    decay_from: Literal["warmup_end", "start"] = "warmup_end"
    """Where the fall begins to count; `start` is the form of original BERT, which drops at the end
    of the warm-up to where a fall from step 0 would be."""
    tick: Literal["update", "attempt"] = "update"
    """Whether a skipped step advances the schedule (`attempt`) or not (`update`)."""


class Ema(Section):
    """Exponential moving average of the weights, evaluated beside them."""

    decay: Fraction | None = None
    """After every update: average = decay * average + (1 - decay) * weight. None: no average."""


class Distributed(Section):
    """Data parallelism. What counts is the number of processes, `nodes` x `processes_per_node`."""

    strategy: Literal["none", "data_parallel"] = "none"
    nodes: Count = 1
    """Machines, which share a file system; how they are started: `launch`."""
    processes_per_node: Count = 1


Model = Annotated[BertModel | CustomModel, Field(discriminator="kind")]
Data = Annotated[SyntheticData | NpzData, Field(discriminator="source")]
LossScaling = Annotated[
    DynamicLossScaling | StaticLossScaling | NoLossScaling, Field(discriminator="mode")
]
Clipping = Annotated[
    NoClipping | GlobalNormClipping | PerParamNormClipping | ValueClipping,
    Field(discriminator="kind"),
]


class Recipe(Section):
    """One training recipe, version 1."""

    version: Literal[1]
    name: Slug
    """Names the run: 1 to 64 letters, digits, dots, dashes and underscores, the first of them a
    letter or a digit."""
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0
    """At most 2147483647; decides the order of the rows, fresh weights and dropout."""
    model: Model
    data: Data
    batch: Batch
    precision: Precision = Precision()
    loss_scaling: LossScaling
    """Derived when left out: dynamic for float16, none otherwise."""
    accumulation: Accumulation
    clipping: Clipping = NoClipping(kind="none")
    optimizer: Optimizer
    schedule: Schedule
    ema: Ema = Ema()
    activation_checkpointing: bool = False
    """Keep only the inputs of encoder layers; the backward pass computes the rest again."""
    distributed: Distributed = Distributed()
    launch: Launch = Launch()
    overrides: dict[str, dict[str, Any]] = {}  # noqa: RUF012  (pydantic copies it)
    """Settings only one backend knows, by backend name; checked by that backend."""

    SECTIONS: ClassVar[tuple[str, ...]] = (
        "model",
        "data",
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
    )

    @property
    def processes(self) -> int:
        """Data-parallel processes of the run."""
        return self.distributed.nodes * self.distributed.processes_per_node

    @property
    def scaling_on(self) -> bool:
        """Whether the loss is scaled."""
        return self.loss_scaling.mode != "none"

    @property
    def half(self) -> Literal["", "float16", "bfloat16"]:
        """The half type this recipe computes in; empty for none."""
        dtype = self.precision.compute_dtype
        return "" if dtype == "float32" else dtype
