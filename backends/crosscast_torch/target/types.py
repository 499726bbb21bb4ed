"""Types of operations in the emitted model.

They are left to autocast, or follow from half copies of the weights, or every operation casts what
it gets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crosscast.emit.frame import Frame
from crosscast.plan import predicates
from crosscast.plan.operations import Autocast, Dtype, Plan
from crosscast.recipe.document import OpType
from crosscast.targets.backend import Form
from crosscast.targets.half_kernels import kernel_types
from crosscast_torch.target.adaptations import TorchAdaptation
from crosscast_torch.target.api import TorchSpelling


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassesView:
    """The type that every class of operations gets, and what it computes in."""

    matmul: Dtype
    pointwise: Dtype
    reductions: Dtype
    embeddings: Dtype
    losses: Dtype
    residual: Dtype


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundsView:
    """The cast that rounds what a class of operations computed in float32; empty for none."""

    matmul: str
    pointwise: str
    reductions: str
    embeddings: str
    losses: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TypesView:
    """Types, and how the model and its loss write layers and casts."""

    half: Literal["", "float16", "bfloat16"]
    """Half type of the computation; empty for none."""
    autocast: str
    """Context of the forward pass; empty for none."""
    casts: Literal["autocast", "copies", "explicit"]
    """Who decides what an operation gets: autocast and `.float()`, half copies of the weights, or
    the operation itself."""
    fused: bool
    """Whether attention is one operation."""
    composed: bool
    """Whether it should be and PyTorch has none."""
    stores: bool
    """Whether the recipe says more than what operations compute in."""
    classes: ClassesView
    rounds: RoundsView

    @property
    def explicit(self) -> bool:
        """Whether every operation casts what it gets."""
        return self.casts == "explicit"

    @property
    def copies(self) -> bool:
        """Whether layers compute with half copies of their weights."""
        return self.casts == "copies"

    @property
    def layers(self) -> Literal["", "nn."]:
        """What comes before the class of a layer: the model has its own ones that cast."""
        return "" if self.explicit else "nn."

    @property
    def matmul(self) -> str:
        """The cast of what attention multiplies."""
        return ".to(MATMUL)" if self.explicit else ""

    @property
    def pointwise(self) -> str:
        """The cast of what autocast may have left in half."""
        return {"autocast": ".float()", "copies": "", "explicit": ".to(POINTWISE)"}[self.casts]

    @property
    def pointwise_again(self) -> str:
        """The cast of what is in float32 already, but where types are explicit."""
        return ".to(POINTWISE)" if self.explicit else ""

    @property
    def residual(self) -> str:
        """The cast of what a layer gets, before the residual sum."""
        return ".to(RESIDUAL)" if self.own_residual else self.pointwise_again

    @property
    def own_residual(self) -> bool:
        """Whether the residual sums have another type than pointwise operations."""
        rounded = bool(self.rounds.pointwise)
        return self.explicit and (rounded or self.classes.residual != self.classes.pointwise)

    @property
    def rounded(self) -> bool:
        """Whether the model rounds what an operation computed in float32."""
        rounds = self.rounds
        return any((rounds.matmul, rounds.pointwise, rounds.reductions, rounds.embeddings))

    @property
    def casts_lookups(self) -> bool:
        """Whether what is looked up in float32 tables is stored in half."""
        return self.copies and not self.rounds.embeddings

    @property
    def reductions(self) -> str:
        """The cast of scores and mask."""
        return {"autocast": ".float()", "copies": "", "explicit": ".to(REDUCTIONS)"}[self.casts]

    @property
    def mask(self) -> str:
        """The cast of the mask."""
        if self.copies:
            return ".to(x.dtype)"
        return ".to(MATMUL)" if self.explicit and self.fused else self.reductions

    @property
    def lowest(self) -> Literal["-1e4", "-1e9"]:
        """What is added to the scores of padding."""
        adds_in = self.classes.matmul if self.fused else self.classes.reductions
        narrow = adds_in == "float16" and (self.fused or self.casts != "autocast")
        return "-1e4" if narrow else "-1e9"

    @property
    def half_loss(self) -> bool:
        """Whether the loss of a row is half."""
        chosen = self.classes.losses != "float32" or bool(self.rounds.losses)
        return self.casts != "autocast" and chosen

    @property
    def logits(self) -> str:
        """The cast of logits."""
        half = self.half_loss and not self.rounds.losses
        return f".to(torch.{self.classes.losses})" if half else ".float()"

    @property
    def loss_doc(self) -> str:
        """The type of the loss, in words."""
        return f"{self.half}, added in float32" if self.half_loss else "float32"


def types_view(plan: Plan, frame: Frame, spelling: TorchSpelling, form: Form) -> TypesView:
    """Return the types of a plan's operations."""
    half, has = predicates.half_type(plan), plan.adapted.__contains__
    # A step is given its model, whose casts are the program's own.
    autocast = has(TorchAdaptation.AUTOCAST) or form == "step"
    casts: Literal["autocast", "copies", "explicit"] = "autocast"
    if has(TorchAdaptation.HALF_COPIES):
        casts = "copies"
    elif has(TorchAdaptation.EXPLICIT_CASTS) and form == "script":
        casts = "explicit"
    kinds = kernel_types(frame.op_types)

    def dtype(kind: OpType) -> Dtype:
        return plan.get(Autocast).compute_dtype if kind == "half" else "float32"

    def rounds(kind: OpType) -> str:
        return ".to(HALF)" if kind == "float32_stored_half" else ""

    return TypesView(
        half=half,
        autocast=spelling.autocast(half) if half and autocast else "",
        casts=casts,
        fused=has(TorchAdaptation.FUSED_ATTENTION),
        composed=has(TorchAdaptation.COMPOSED_ATTENTION),
        stores=casts == "copies" or "float32_stored_half" in frame.op_types.model_dump().values(),
        classes=ClassesView(**{name: dtype(kind) for name, kind in kinds.items()}),
        rounds=RoundsView(
            **{name: rounds(kind) for name, kind in kinds.items() if name != "residual"}
        ),
    )
