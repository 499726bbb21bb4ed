"""What of a script depends on its half type, and how the model gets there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from crosscast.emit.frame import Frame
from crosscast.plan.operations import Plan
from crosscast.recipe.document import OpType
from crosscast.targets.backend import Form
from crosscast.targets.half_kernels import kernel_types
from crosscast_paddle.target.adaptations import PaddleAdaptation

HalfType = Literal["", "float16", "bfloat16"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionView:
    """Where half precision is used."""

    half: HalfType
    """The half type; empty for none."""
    half_weights: bool
    """Whether the model computes with a half copy of its weights."""
    copies: bool
    """Whether that copy has half dense layers and normalizations, and all operations follow."""
    fused: bool
    """Whether attention is one operation."""
    lacks_fused: bool
    """Whether it would be, if this Paddle had that operation."""
    types: tuple[tuple[str, str], ...]
    """Type of each class of operations, if the model casts explicitly; empty leaves it to AMP."""
    rounded: frozenset[str]
    """Classes of operations that compute in float32 and store half, but not in one kernel."""

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
    def residual(self) -> Literal["pointwise", "residual"]:
        """The name of the residual sums in the table of types."""
        return "residual" if "residual" in dict(self.types) else "pointwise"

    @property
    def float32(self) -> str:
        """The cast of what AMP may have left in half; nothing behind half copies."""
        return "" if self.copies else '.astype("float32")'

    @property
    def lowest(self) -> Literal["-1e4", "-1e9"]:
        """What is added to the attention scores of padding."""
        # float16 ends at 65504
        adds_in = dict(self.types).get("matmul" if self.fused else "reductions", "")
        return "-1e4" if "float16" in (adds_in, self.half if self.copies else "") else "-1e9"

    @property
    def rounds_layers(self) -> bool:
        """Whether the model rounds what it computed in float32."""
        return bool(self.types) and bool(self.rounded - {"losses"})

    def stored(self, kind: str, code: str) -> str:
        """Return code of an operation of some class with its result as it is stored."""
        return f"stored({code})" if kind in self.rounded else code

    def products(self, tensors: str) -> str:
        """Return tensors that a matrix product computes with, from what such products store."""
        return f'*cast("matmul", {tensors})' if "matmul" in self.rounded else tensors


def precision_view(plan: Plan, frame: Frame, half: HalfType) -> PrecisionView:
    """Return where a script with this half type uses it."""
    has = plan.adapted.__contains__
    explicit, kinds = has(PaddleAdaptation.EXPLICIT_CASTS), kernel_types(frame.op_types)
    rounded = frozenset(name for name, kind in kinds.items() if kind == "float32_stored_half")
    return PrecisionView(
        half=half,
        half_weights=has(PaddleAdaptation.HALF_COPY),
        copies=has(PaddleAdaptation.HALF_COPIES),
        fused=has(PaddleAdaptation.FUSED_ATTENTION),
        lacks_fused=has(PaddleAdaptation.EXPLICIT_ATTENTION),
        types=_table(kinds, half) if explicit else (),
        rounded=rounded,
    )


def _table(kinds: Mapping[str, OpType], half: HalfType) -> tuple[tuple[str, str], ...]:
    """Return the types that operations compute in, and the one in which results are stored."""
    table = {name: str(half) if kinds[name] == "half" else "float32" for name in kinds}
    if table["residual"] == table["pointwise"] and kinds["pointwise"] != "float32_stored_half":
        del table["residual"]
    if "float32_stored_half" in kinds.values():
        table["stored"] = half
    return tuple(table.items())


def auto_cast(plan: Plan, precision: PrecisionView, level: str, form: Form) -> str:
    """Return the context manager of the forward pass, as code; empty for none."""
    if PaddleAdaptation.AUTO_CAST not in plan.adapted:
        return ""
    if precision.types or precision.copies:  # GradScaler asks for the type
        return f'paddle.amp.auto_cast(False, dtype="{precision.half}")'
    enable = "state.amp, " if form == "script" else ""
    return f'paddle.amp.auto_cast({enable}dtype="{precision.half}", level="{level}")'
