"""Types of operations in the emitted model: what casts what, at every place.

Dense layers and normalizations of Flax have a type of their own, to which they cast what they get.
Everything else follows what it gets, so a cast is written where that is another type.
Normalizations and dropout compute in float32 whatever they get and return, softmax where reductions
are not half. A table keeps the type of its fresh weights, also where it gets half copies of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crosscast.emit.frame import Frame
from crosscast.plan import predicates
from crosscast.plan.operations import Plan
from crosscast.recipe.document import BertModel, OpType
from crosscast_jax.target.adaptations import JaxAdaptation

Stored = Literal["float32", "half"]
_TO_VALUES = ".astype(v.dtype)"
_CASTS = {"float32": ".astype(jnp.float32)", "half": ".astype(HALF)"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TypesView:
    """Types, and the casts between operations of different ones."""

    half: Literal["", "float16", "bfloat16"]
    """Half type of the computation; empty for none."""
    model_half: bool
    """Whether the emitted model casts by itself."""
    copies: bool
    """Whether the model gets half copies of its weights."""
    spared: bool
    """Whether normalizations keep their float32 weights."""
    recomputed_attention: bool
    """Whether the backward pass computes attention again."""
    layered: bool = False
    """Whether the script sets the types of layers of the user's model."""
    half_rows: bool = False
    """Whether rows of its tables are half."""
    half_norm: bool = False
    """Whether normalizations return half."""
    dense: str = ""
    """Argument of dense layers."""
    norm: str = ""
    """Argument of normalizations."""
    table: str = ""
    """Argument of tables."""
    looked_up: str = ""
    """Cast of rows of a table."""
    embedded: str = ""
    """Of their sum."""
    product: str = ""
    """Of what a dense layer gives, where it is rounded."""
    factor: str = ""
    """Of what attention multiplies."""
    scores: str = ""
    """Of scores, for softmax."""
    accumulated: str = ", preferred_element_type=jnp.float32"
    """Argument of the product that gives scores that are not kept."""
    rounded: str = ""
    """Of scores that are not kept."""
    mask: str = _CASTS["float32"]
    """Of what is added to the scores."""
    lowest: Literal["-1e4", "-1e9"] = "-1e9"
    """What is added to the scores of padding."""
    weights: str = ""
    """Of what softmax gives."""
    attended: str = _TO_VALUES
    """Of what softmax gives, where it is not kept."""
    attending: str = ""
    """Of what is not kept, for its product with the values."""
    context: str = ""
    """Of the weights of attention, for their product with the values."""
    stream: str = ""
    """Of the residual stream, for the sum."""
    added: str = ""
    """Of what is added to it."""
    point: str = ""
    """Of what a dense layer gives, for GELU and tanh."""
    activated: str = ""
    """Of what GELU and tanh give."""
    dropped: str = ""
    """Of what dropout gives."""
    half_loss: bool = False
    """Whether the loss of a row is half."""
    loss_computes: Stored = "float32"
    """What it is computed in."""

    @property
    def logits(self) -> str:
        """The cast of logits."""
        return ".astype(HALF)" if self.loss_computes == "half" else ".astype(jnp.float32)"

    @property
    def loss_doc(self) -> str:
        """The type of the loss, in words."""
        return f"{self.half}, added in float32" if self.half_loss else "float32"


def _computes(kind: OpType) -> Stored:
    return "half" if kind == "half" else "float32"


def _stores(kind: OpType) -> Stored:
    return "float32" if kind == "float32" else "half"


def _cast(have: Stored, want: Stored) -> str:
    return "" if have == want else _CASTS[want]


def types_view(plan: Plan, frame: Frame) -> TypesView:
    """Return the types of a plan's operations."""
    half, has = predicates.half_type(plan), plan.adapted.__contains__
    copies, typed = has(JaxAdaptation.HALF_COPIES), half and isinstance(frame.model, BertModel)
    attention = has(JaxAdaptation.RECOMPUTED_ATTENTION)
    kinds = frame.op_types
    if not typed:
        layered = has(JaxAdaptation.LAYER_TYPES)
        return TypesView(
            half=half,
            model_half=False,
            copies=copies,
            spared=copies,
            recomputed_attention=attention,
            layered=layered,
            half_rows=copies or (layered and _stores(kinds.embeddings) == "half"),
            half_norm=layered and _stores(kinds.reductions) == "half",
        )
    dense, norm = _stores(kinds.matmul), _stores(kinds.reductions)
    looks_up, reduces = _computes(kinds.embeddings), _computes(kinds.reductions)
    point, residual = _stores(kinds.pointwise), _stores(kinds.residual)
    computes = _computes(kinds.pointwise)
    drops = getattr(frame.model, "dropout", 0.0) > 0
    # The stream is what a normalization gives; that of the embeddings goes through dropout.
    first = point if drops else norm
    branch = point if drops else dense
    # The weights are rounded where they are stored, though the values are not.
    rounds_first = norm == "half" and dense == "float32"
    return TypesView(
        half=half,
        model_half=True,
        copies=copies,
        spared=copies,
        recomputed_attention=attention,
        dense=f", dtype={_NAMES[_computes(kinds.matmul)]}",
        norm=f", dtype={_NAMES[norm]}",
        half_norm=norm == "half",
        table=", dtype=HALF" if copies and looks_up == "half" else "",
        looked_up=_CASTS[looks_up] if copies != (looks_up == "half") else "",
        embedded=_cast(looks_up, _stores(kinds.embeddings)),
        product=_cast(_computes(kinds.matmul), dense),
        factor=_cast(dense, _computes(kinds.matmul)),
        scores=_CASTS["float32"] if reduces == "float32" else _cast(dense, "half"),
        accumulated="" if reduces == "half" else ", preferred_element_type=jnp.float32",
        rounded=_cast(dense, "half") if reduces == "half" else "",
        mask=_CASTS[reduces],
        lowest="-1e4" if (reduces, half) == ("half", "float16") else "-1e9",
        weights=_cast(reduces, norm),
        attended=_cast(reduces, norm) if rounds_first else _TO_VALUES,
        attending=_TO_VALUES if rounds_first and not drops else "",
        context=_cast(point if drops else norm, _computes(kinds.matmul)),
        stream=_CASTS[residual] if first != residual or norm != residual else "",
        added=_cast(branch, residual),
        point=_cast(dense, computes),
        activated=_cast(computes, point),
        dropped=_CASTS[point],
        half_loss=kinds.losses != "float32",
        loss_computes=_computes(kinds.losses),
    )


_NAMES = {"half": "HALF", "float32": "jnp.float32"}
