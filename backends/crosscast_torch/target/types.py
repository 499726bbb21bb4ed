"""Types of operations in the emitted model: left to autocast, or written out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crosscast.emit.frame import Frame
from crosscast.plan import predicates
from crosscast.plan.operations import Autocast, Dtype, Plan
from crosscast.targets.backend import Form
from crosscast_torch.target.adaptations import TorchAdaptation
from crosscast_torch.target.api import TorchSpelling


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassesView:
    """The type of every class of operations."""

    matmul: Dtype
    pointwise: Dtype
    reductions: Dtype
    embeddings: Dtype
    losses: Dtype


@dataclass(frozen=True, slots=True, kw_only=True)
class TypesView:
    """Types, and how the model and its loss write layers and casts."""

    half: Literal["", "float16", "bfloat16"]
    """Half type of the computation; empty for none."""
    autocast: str
    """Context of the forward pass; empty for none."""
    explicit: bool
    """Whether every operation casts what it gets."""
    classes: ClassesView

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
        return ".to(POINTWISE)" if self.explicit else ".float()"

    @property
    def pointwise_again(self) -> str:
        """The cast of what is in float32 already, but where types are explicit."""
        return ".to(POINTWISE)" if self.explicit else ""

    @property
    def reductions(self) -> str:
        """The cast of scores and mask."""
        return ".to(REDUCTIONS)" if self.explicit else ".float()"

    @property
    def lowest(self) -> Literal["-1e4", "-1e9"]:
        """What is added to the scores of padding."""
        return "-1e4" if self.explicit and self.classes.reductions == "float16" else "-1e9"

    @property
    def half_loss(self) -> bool:
        """Whether the loss of a row is half."""
        return self.explicit and self.classes.losses != "float32"

    @property
    def logits(self) -> str:
        """The cast of logits."""
        return f".to(torch.{self.classes.losses})" if self.half_loss else ".float()"

    @property
    def loss_doc(self) -> str:
        """The type of the loss, in words."""
        return f"{self.classes.losses}, added in float32" if self.half_loss else "float32"


def types_view(plan: Plan, frame: Frame, spelling: TorchSpelling, form: Form) -> TypesView:
    """Return the types of a plan's operations."""
    half, chosen = predicates.half_type(plan), frame.op_types
    # A step is given its model, whose casts are the program's own.
    autocast = TorchAdaptation.AUTOCAST in plan.adapted or form == "step"

    def dtype(kind: Literal["compute", "float32"]) -> Dtype:
        return plan.get(Autocast).compute_dtype if kind == "compute" else "float32"

    return TypesView(
        half=half,
        autocast=spelling.autocast(half) if half and autocast else "",
        explicit=TorchAdaptation.EXPLICIT_CASTS in plan.adapted and form == "script",
        classes=ClassesView(
            matmul=dtype(chosen.matmul),
            pointwise=dtype(chosen.pointwise),
            reductions=dtype(chosen.reductions),
            embeddings=dtype(chosen.embeddings),
            losses=dtype(chosen.losses),
        ),
    )
