"""What of a script depends on its half type, and how the model gets there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crosscast.emit.frame import Frame
from crosscast.plan.operations import Plan
from crosscast.recipe.document import OpTypes
from crosscast.targets.backend import Form
from crosscast_paddle.target.adaptations import PaddleAdaptation

HalfType = Literal["", "float16", "bfloat16"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionView:
    """Where half precision is used."""

    half: HalfType
    """The half type; empty for none."""
    half_weights: bool
    """Whether the model computes with a half copy of its weights."""
    types: tuple[tuple[str, str], ...]
    """Type of each class of operations, if the model casts explicitly; empty leaves it to AMP."""

    @property
    def flag(self) -> Literal["use_bf16", "use_fp16"]:
        """The flag that turns half precision off."""
        return "use_bf16" if self.half == "bfloat16" else "use_fp16"

    @property
    def dense(self) -> Literal["Dense", "nn.Linear"]:
        """Class of the dense layers."""
        return "Dense" if self.types else "nn.Linear"

    @property
    def norm(self) -> Literal["Norm", "nn.LayerNorm"]:
        """Class of the normalization layers."""
        return "Norm" if self.types else "nn.LayerNorm"

    @property
    def lowest(self) -> Literal["-1e4", "-1e9"]:
        """What is added to the attention scores of padding."""
        # float16 ends at 65504
        return "-1e4" if ("reductions", "float16") in self.types else "-1e9"


def precision_view(plan: Plan, frame: Frame, half: HalfType) -> PrecisionView:
    """Return where a script with this half type uses it."""
    has = plan.adapted.__contains__
    chosen = frame.op_types if has(PaddleAdaptation.EXPLICIT_CASTS) else OpTypes()
    types_by_kind: dict[str, str] = {"compute": half, "float32": "float32"}
    types = ((name, types_by_kind[kind]) for name, kind in chosen.model_dump().items())
    return PrecisionView(
        half=half,
        half_weights=has(PaddleAdaptation.HALF_COPY),
        types=() if chosen == OpTypes() else tuple(types),
    )


def auto_cast(plan: Plan, precision: PrecisionView, level: str, form: Form) -> str:
    """Return the context manager of the forward pass, as code; empty for none."""
    if PaddleAdaptation.AUTO_CAST not in plan.adapted:
        return ""
    if precision.types:  # GradScaler asks for the type
        return f'paddle.amp.auto_cast(False, dtype="{precision.half}")'
    enable = "state.amp, " if form == "script" else ""
    return f'paddle.amp.auto_cast({enable}dtype="{precision.half}", level="{level}")'
