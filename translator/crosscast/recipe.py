"""The recipe: one training run in neutral terms. Frozen, versioned, without hidden values.

Field names are the field's most common words (docs/recipe.md). Every value that a file may leave
out is either a default here or derived by `crosscast.derive` before validation, so a loaded
`Recipe` says everything it means.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from crosscast.scaling import float32

VERSION = 1

BERT_PRESETS: dict[str, dict[str, int]] = {
    "tiny": {"layers": 2, "hidden_size": 128, "attention_heads": 2, "intermediate_size": 512},
    "mini": {"layers": 4, "hidden_size": 256, "attention_heads": 4, "intermediate_size": 1024},
    "small": {"layers": 4, "hidden_size": 512, "attention_heads": 8, "intermediate_size": 2048},
    "base": {"layers": 12, "hidden_size": 768, "attention_heads": 12, "intermediate_size": 3072},
}

# Patterns are matched by pydantic's Rust engine, where $ is only the very end of the text.
# 2**31-1: every framework can hold it in an int32 counter or shape.
Count = Annotated[int, Field(ge=1, le=2**31 - 1)]
CountOrZero = Annotated[int, Field(ge=0, le=2**31 - 1)]
Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Fraction = Annotated[float, Field(ge=0, lt=1)]
# Every framework keeps scales in float32: they are rounded to it here, once, so that all show the
# same. Within these bounds both scale and 1/scale are normal float32 numbers.
LossScale = Annotated[float, Field(ge=2.0**-126, le=2.0**126), AfterValidator(float32)]
SLUG_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
# Paths are printed in scripts and messages: no control characters, line separators, invisible
# characters or marks of direction.
PATH_PATTERN = r"^[^\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+$"
FACTORY_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*$"
Slug = Annotated[str, Field(pattern=SLUG_PATTERN)]
FilePath = Annotated[str, Field(min_length=1, max_length=255, pattern=PATH_PATTERN)]
FactoryName = Annotated[str, Field(max_length=200, pattern=FACTORY_PATTERN)]
HalfDtype = Literal["float16", "bfloat16"]
Role = Literal["bias", "layer_norm", "embedding"]


class Section(BaseModel):
    """Base of all parts: frozen, no conversions, unknown fields refused, finite numbers only."""

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        hide_input_in_errors=True,
        defer_build=True,
    )


class BertModel(Section):
    """The shipped BERT encoder with a classifier on the first token (post-LN, erf GELU)."""

    kind: Literal["bert"]
    preset: Literal["tiny", "mini", "small", "base"] | None = None
    """Fills the four sizes that are not given; without it all four must be given."""
    layers: Count
    """Encoder layers; derived from `preset` when left out."""
    hidden_size: Count
    """Width of the encoder; a multiple of `attention_heads`."""
    attention_heads: Count
    intermediate_size: Count
    """Width of the feed-forward layer."""
    vocab_size: Count = 30522
    max_positions: Count = 512
    """Longest sequence the position table holds, in tokens."""
    type_vocab_size: Count = 2
    """Number of segments."""
    labels: Annotated[int, Field(ge=2, le=2**31 - 1)] = 2
    """Number of classes."""
    dropout: Fraction = 0.1
    """Drop probability of hidden states and attention weights."""
    layer_norm_eps: Positive = 1e-12
    init_std: Positive = 0.02
    """Standard deviation of the normal distribution that initialises kernels and embeddings."""


class CustomModel(Section):
    """The user's own model, built by a function the emitted script imports."""

    kind: Literal["custom"]
    factory: Annotated[dict[str, FactoryName], Field(min_length=1)]
    """Backend name to `package.module:function`; the function takes nothing, returns a model."""


class SyntheticData(Section):
    """The small natural-language-inference-like set that crosscast generates."""

    source: Literal["synthetic"]
    sequence_length: Annotated[int, Field(ge=8, le=2**16)] = 32
    """Tokens per row, padding included."""
    train_rows: Count = 4096
    eval_rows: Count = 1024
    shuffle: bool = True
    """A new order of the training rows every epoch, derived from the recipe's seed."""


class NpzData(Section):
    """Tokenised rows in npz files, as `crosscast data` writes them."""

    source: Literal["npz"]
    train: FilePath
    eval: FilePath
    sequence_length: Annotated[int, Field(ge=1, le=2**16)] = 128
    """Tokens per row, padding included."""
    shuffle: bool = True
    """A new order of the training rows every epoch, derived from the recipe's seed."""


class Batch(Section):
    """Rows per step: global = micro x accumulation.steps x distributed.processes_per_node."""

    micro_batch_size: Count
    """Rows of one forward/backward on one process; derived when left out."""
    global_batch_size: Count
    """Rows of one optimizer step over all processes; derived when left out."""


class Precision(Section):
    """Number formats of the computation."""

    mode: Literal["none", "mixed"] = "none"
    """`none`: float32 throughout. `mixed`: matmul-class operations in `compute_dtype`."""
    compute_dtype: Literal["float32", "float16", "bfloat16"] = "float32"
    param_dtype: Literal["float32"] = "float32"
    """Type of the weights and the optimizer's moments."""
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
    """Overflowed steps in a row before the scale backs off."""
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
    normalize_by: Literal["sample", "microbatch"] = "sample"
    """Mean over the window's rows, or mean of the micro-batches' means."""
    tail: Literal["flush_renormalized", "flush", "drop", "carry"] = "flush_renormalized"
    """A short window at the end of an epoch: step with its true mean, step with the divisor of a
    full window, leave it out, or fill it from the next epoch."""


class NoClipping(Section):
    """Gradients are not clipped."""

    kind: Literal["none"]


class GlobalNormClipping(Section):
    """All gradients times min(1, max_norm / (norm + eps))."""

    kind: Literal["global_norm"]
    max_norm: Positive
    eps: NonNegative = 1e-6
    """1e-6 is PyTorch's form; 0 is max_norm / max(norm, max_norm)."""


class ValueClipping(Section):
    """Each gradient entry clamped to [-max_value, max_value]."""

    kind: Literal["value"]
    max_value: Positive


class Sgd(Section):
    """Stochastic gradient descent; the rate multiplies outside the momentum."""

    name: Literal["sgd"]
    learning_rate: Positive
    momentum: Fraction = 0.0
    nesterov: bool = False
    weight_decay: NonNegative = 0.0
    """Coupled (L2): added to the gradient after clipping."""
    no_decay: tuple[Role, ...] = ()
    """Roles of parameters without decay."""


class Adam(Section):
    """Adam with bias correction; epsilon is added after it."""

    name: Literal["adam"]
    learning_rate: Positive
    betas: tuple[Fraction, Fraction] = (0.9, 0.999)
    eps: Positive = 1e-8
    weight_decay: NonNegative = 0.0
    """Coupled (L2): added to the gradient after clipping."""
    no_decay: tuple[Role, ...] = ()
    """Roles of parameters without decay."""


class AdamW(Section):
    """Adam with decoupled decay: w times (1 - learning_rate * weight_decay)."""

    name: Literal["adamw"]
    learning_rate: Positive
    betas: tuple[Fraction, Fraction] = (0.9, 0.999)
    eps: Positive = 1e-8
    weight_decay: NonNegative = 0.01
    no_decay: tuple[Role, ...] = ("bias", "layer_norm")
    """Roles of parameters without decay."""


class Schedule(Section):
    """Learning rate over the optimizer steps."""

    name: Literal["constant", "linear", "cosine"] = "constant"
    """After the warm-up: constant, or falling to `end_lr` at `total_steps`."""
    total_steps: Count
    """Windows the run makes, and the length of the schedule."""
    warmup_steps: CountOrZero = 0
    """Steps of the linear warm-up from 0; the first of them has rate 0."""
    warmup_ratio: Annotated[float, Field(ge=0, le=1)] | None = None
    """Instead of `warmup_steps`: that share of `total_steps`, rounded down."""
    end_lr: NonNegative = 0.0
    tick: Literal["update", "attempt"] = "update"
    """Whether a skipped step advances the schedule (`attempt`) or not (`update`)."""


class Distributed(Section):
    """Data parallelism on one machine."""

    strategy: Literal["none", "data_parallel"] = "none"
    processes_per_node: Count = 1


Model = Annotated[BertModel | CustomModel, Field(discriminator="kind")]
Data = Annotated[SyntheticData | NpzData, Field(discriminator="source")]
LossScaling = Annotated[
    DynamicLossScaling | StaticLossScaling | NoLossScaling, Field(discriminator="mode")
]
Clipping = Annotated[NoClipping | GlobalNormClipping | ValueClipping, Field(discriminator="kind")]
Optimizer = Annotated[Sgd | Adam | AdamW, Field(discriminator="name")]


class Recipe(Section):
    """One training recipe, version 1."""

    version: Literal[1]
    name: Slug
    """Letters, digits, dot, dash and underscore; names the run."""
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0
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
    distributed: Distributed = Distributed()
    overrides: dict[str, dict[str, Any]] = {}
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
        "distributed",
    )

    @property
    def processes(self) -> int:
        """Data-parallel processes of the run."""
        return self.distributed.processes_per_node

    @property
    def scaling_on(self) -> bool:
        """Whether the loss is scaled."""
        return self.loss_scaling.mode != "none"
