"""Types in the shipped BERT: what casts what, at every place of the emitted model.

Dense layers and tables follow a policy of Keras; everything else gets what the operation before
it gave. So a cast is written where that is another type.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from crosscast.emit.frame import Frame
from crosscast.plan import predicates
from crosscast.plan.operations import Plan
from crosscast.recipe.document import OpType, OpTypes
from crosscast_tensorflow.target.adaptations import TensorflowAdaptation
from crosscast_tensorflow.target.precision import op_types

Kind = Literal["float32", "half"]
"""A type, and the function of the emitted model that casts to it."""


@dataclass(frozen=True, slots=True)
class Casts:
    """Functions of the emitted model that are called on something, the first one first."""

    names: tuple[Kind, ...] = ()

    def around(self, code: str) -> str:
        """Return the code of something with its casts."""
        for name in self.names:
            code = f"{name}({code})"
        return code


@dataclass(frozen=True, slots=True, kw_only=True)
class TypesView:
    """Types in the shipped BERT."""

    half: Literal["", "float16", "bfloat16"]
    stores: bool
    """Whether the recipe says more than what operations compute in."""
    explains_attention: bool
    """Whether the recipe asks for an attention that TensorFlow does not have."""
    layers_cast: bool
    """Whether Keras may cast the inputs of an encoder layer."""
    embedding: str
    """The policy of the embeddings: how they hold their table and look it up."""
    norm: str
    """The policy of layer normalization."""
    hidden: Literal["-1e4", "-1e9"]
    """What is added to the scores of padding, as code: still finite in a sum."""
    rounded_reductions: bool
    """Whether softmax and LayerNorm are those of the script, which compute in float32 and round
    once: softmax keeps its result alone, LayerNorm what it gets."""
    rounded_gelu: bool
    """Whether GELU is that of the script, likewise, which keeps what it gets."""
    exact_dropout: bool
    """Whether dropout divides half numbers in float32; they would round the divisor."""
    mask: Casts
    """Of the mask of padding."""
    looked_up: Casts = Casts()
    """Of rows of a table."""
    embedded: Casts = Casts()
    """Of their sum."""
    embedded_norm: Casts = Casts()
    """Of the sum, for its normalization."""
    first: Casts = Casts()
    """Of the first normalization, for dropout."""
    heads: Casts = Casts()
    """Of queries, keys and values."""
    factor: Casts = Casts()
    """Of what attention multiplies."""
    product: Casts = Casts()
    """Of a product of attention."""
    scores: Casts = Casts()
    """Of scores, for softmax."""
    weights: Casts = Casts()
    """Of the weights of attention, for dropout."""
    context: Casts = Casts()
    """Of the weights of attention, for their product with the values."""
    dropped: Casts = Casts()
    """Of what dropout gives."""
    inner: Casts = Casts()
    """Of what a dense layer gives, for GELU."""
    point: Casts = Casts()
    """Of what a dense layer gives, for tanh."""
    activated: Casts = Casts()
    """Of what GELU and tanh give."""
    branch: Casts = Casts()
    """Of what a dense layer gives, for dropout or the residual sum."""
    stream: Casts = Casts()
    """Of the residual stream, for the sum."""
    added: Casts = Casts()
    """Of what is added to it."""
    norm_in: Casts = Casts()
    """Of the sum, for its normalization."""
    norm_out: Casts = Casts()
    """Of what that gives."""
    pooled: Casts = Casts()
    """Of what tanh gave, for dropout."""
    logits: Casts = Casts()
    """Of what the classifier gives."""

    @property
    def stock(self) -> bool:
        """Whether everything but the products is in float32."""
        return self.layers_cast and self.embedding == "float32"

    @property
    def uses_half(self) -> bool:
        """Whether the model casts to the half type by itself."""
        return self.rounded_reductions or self.rounded_gelu or self._uses("half")

    @property
    def uses_float32(self) -> bool:
        """Whether the model casts to float32 by itself."""
        rounds = self.rounded_reductions or self.rounded_gelu or self.exact_dropout
        return not self.stores or rounds or self._uses("float32")

    def _uses(self, name: Kind) -> bool:
        places = (getattr(self, field.name) for field in fields(self))
        return any(name in place.names for place in places if isinstance(place, Casts))

    def add_norm(self, norm: str) -> str:
        """Return the code of a residual sum and its normalization."""
        total = self.norm_in.around(f"{self.stream.around('x')} + {self.added.around('y')}")
        return self.norm_out.around(f"{norm}({total})")

    def gelu(self, x: str) -> str:
        """Return the code of GELU and what rounds it."""
        return f"gelu({x})" if self.rounded_gelu else self.activated.around(f"tf.nn.gelu({x})")


def types_view(plan: Plan, frame: Frame) -> TypesView:
    """Return the view of the types in the shipped BERT."""
    kinds = op_types(plan, frame)
    explains = TensorflowAdaptation.EXPLICIT_ATTENTION in plan.adapted
    if TensorflowAdaptation.STORED_TYPES in plan.adapted:
        dropout = getattr(frame.model, "dropout", 0.0) > 0
        return _stored(plan, kinds, explains=explains, dropout=dropout)
    return _computed(plan, kinds, explains=explains)


def _computed(plan: Plan, kinds: OpTypes, *, explains: bool) -> TypesView:
    """Return the types where operations give what they compute in."""
    half = predicates.half_type(plan)
    full = TensorflowAdaptation.MASTER_WEIGHTS in plan.adapted
    point, reduce = _computes(kinds.pointwise), _computes(kinds.reductions)
    widens = full and kinds.embeddings == "float32"
    looked_up = "float32" if kinds.embeddings == "float32" else f"mixed_{half}"
    back = _cast(reduce, point)
    return TypesView(
        half=half,
        stores=False,
        explains_attention=explains,
        layers_cast=point == reduce == "float32",
        embedding=half if full else looked_up,
        norm="float32" if reduce == "float32" else f"mixed_{half}",
        hidden=_hidden(reduce, half),
        rounded_reductions=False,
        rounded_gelu=False,
        exact_dropout=False,
        mask=Casts((reduce,)),
        looked_up=Casts(("float32",)) if widens else Casts(),
        scores=Casts((reduce,)),
        weights=back,
        inner=Casts((point,)),
        point=Casts((point,)),
        branch=Casts((point,)),
        norm_out=back,
    )


def _stored(plan: Plan, kinds: OpTypes, *, explains: bool, dropout: bool) -> TypesView:
    """Return the types where operations may round what they computed."""
    half = predicates.half_type(plan)
    full = TensorflowAdaptation.MASTER_WEIGHTS in plan.adapted
    matmul, point = _stores(kinds.matmul), _computes(kinds.pointwise)
    reduce, residual, embedded = (
        _stores(kind) for kind in (kinds.reductions, kinds.residual, kinds.embeddings)
    )
    rounds = _rounds(kinds.matmul)
    widens = full and kinds.embeddings != "half"
    dropped = _stores(kinds.pointwise) if dropout else reduce
    rounds_reductions = kinds.reductions == "float32_stored_half"
    # Keras 2 rounds what a mixed normalization gets. In float32, Keras 3 rounds what it gives to
    # the type of what it got.
    normalizes: Kind = "half" if kinds.reductions == "half" else "float32"
    rounds_gelu = kinds.pointwise != "float32"
    inner = Casts() if kinds.pointwise == "float32_stored_half" else _cast(matmul, point)
    branch = _stores(kinds.pointwise) if dropout else matmul
    return TypesView(
        half=half,
        stores=True,
        explains_attention=explains,
        layers_cast=False,
        embedding=half if full else f"mixed_{half}" if kinds.embeddings == "half" else "float32",
        norm=f"mixed_{half}" if normalizes == "half" else "float32",
        hidden=_hidden(_computes(kinds.reductions), half),
        rounded_reductions=rounds_reductions,
        rounded_gelu=rounds_gelu,
        exact_dropout=dropout and kinds.pointwise == "half",
        mask=Casts((_computes(kinds.reductions),)),
        looked_up=Casts(("float32",)) if widens else Casts(),
        embedded=_rounds(kinds.embeddings),
        embedded_norm=Casts() if rounds_reductions else _cast(embedded, normalizes),
        first=_cast(reduce, point) if dropout else Casts(),
        heads=rounds,
        factor=Casts(("float32",)) if rounds.names else Casts(),
        product=rounds,
        scores=_cast(matmul, _computes(kinds.reductions)),
        weights=_cast(reduce, point) if dropout else Casts(),
        context=_cast(dropped, _computes(kinds.matmul)),
        dropped=_rounds(kinds.pointwise) if dropout else Casts(),
        inner=Casts(rounds.names + inner.names),
        point=Casts(rounds.names + _cast(matmul, point).names),
        activated=_rounds(kinds.pointwise),
        branch=Casts(rounds.names + (_cast(matmul, point).names if dropout else ())),
        # The first layer gets what dropout gave, the others what a normalization gave.
        stream=Casts() if reduce == dropped == residual else Casts((residual,)),
        added=_cast(branch, residual),
        norm_in=Casts() if rounds_reductions else _cast(residual, normalizes),
        norm_out=Casts() if rounds_reductions else _cast(normalizes, reduce),
        pooled=_cast(_stores(kinds.pointwise), point) if dropout else Casts(),
        logits=rounds,
    )


def _computes(kind: OpType) -> Kind:
    """Return the type that operations compute in."""
    return "half" if kind == "half" else "float32"


def _stores(kind: OpType) -> Kind:
    """Return the type that operations give."""
    return "float32" if kind == "float32" else "half"


def _rounds(kind: OpType) -> Casts:
    """Return the cast of what operations computed to what they give."""
    return _cast(_computes(kind), _stores(kind))


def _cast(before: Kind, after: Kind) -> Casts:
    return Casts() if before == after else Casts((after,))


def _hidden(reduce: Kind, half: str) -> Literal["-1e4", "-1e9"]:
    return "-1e4" if reduce == "half" and half == "float16" else "-1e9"
