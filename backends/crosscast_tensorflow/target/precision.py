"""In which types the emitted Keras model holds its weights and computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crosscast.emit.frame import Frame
from crosscast.plan import predicates
from crosscast.plan.operations import Autocast, Dtype, Plan
from crosscast.recipe.document import OpTypes
from crosscast_tensorflow.target.adaptations import TensorflowAdaptation

Cast = Literal["float32", "half"]
"""A function of the emitted model that casts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionView:
    """What the forward pass computes in."""

    policy: str
    """Dtype policy of Keras under which the layers are built."""
    rewrite: bool
    """Whether TensorFlow rewrites parts of the graph to float16."""
    loss: Dtype
    """Type of the losses of rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateView:
    """What the training state holds beside the weights of the model."""

    copies: bool
    """Whether the optimizer updates float32 copies of the weights."""
    averages: bool
    """Whether there are averages of the weights."""
    half_sums: bool
    """Whether the sums of gradients have the types of the weights, not float32."""
    own_sums: bool
    """Whether Keras has such sums too, but loses micro-batches."""

    @property
    def updated(self) -> str:
        """The list of the weights that a step updates."""
        return "optimizer.variables" if self.copies else "model.trainable_variables"


@dataclass(frozen=True, slots=True, kw_only=True)
class TypesView:
    """Types in the shipped BERT."""

    half: Literal["", "float16", "bfloat16"]
    point: Cast
    """What casts to the type of pointwise operations."""
    reduce: Cast
    """What casts to the type of softmax and layer normalization."""
    embedding: str
    """The policy of the embeddings: how they hold their table and look it up."""
    widens: bool
    """Whether what they look up in a half table is added in float32."""

    @property
    def stock(self) -> bool:
        """Whether everything but the products is in float32."""
        return self.layers_cast and self.embedding == "float32"

    @property
    def layers_cast(self) -> bool:
        """Whether Keras may cast the inputs of an encoder layer."""
        return self.point == self.reduce == "float32"

    @property
    def uses_half(self) -> bool:
        """Whether the model casts to the half type by itself."""
        looked_up = self.embedding != "float32" and not self.widens
        return looked_up or "half" in (self.point, self.reduce)

    @property
    def back(self) -> Literal["", "float32", "half"]:
        """What casts to the type of pointwise operations after the others; empty for the same."""
        return self.point if self.point != self.reduce else ""

    @property
    def norm(self) -> str:
        """The policy of layer normalization."""
        return "float32" if self.reduce == "float32" else f"mixed_{self.half}"

    @property
    def hidden(self) -> str:
        """What is added to the scores of padding, as code: still finite in a sum."""
        return "-1e4" if self.reduce == "half" and self.half == "float16" else "-1e9"


def precision_view(plan: Plan, frame: Frame) -> PrecisionView:
    """Return the view of the forward pass."""
    half_loss = _op_types(plan, frame).losses == "compute"
    return PrecisionView(
        policy=_policy(plan, frame),
        rewrite=TensorflowAdaptation.GRAPH_REWRITE in plan.adapted,
        loss=plan.get(Autocast).compute_dtype if half_loss else "float32",
    )


def state_view(plan: Plan) -> StateView:
    """Return the view of the training state."""
    return StateView(
        copies=TensorflowAdaptation.MASTER_WEIGHTS in plan.adapted,
        averages=TensorflowAdaptation.OWN_AVERAGE in plan.adapted,
        half_sums=predicates.half_sums(plan),
        own_sums=TensorflowAdaptation.OWN_SUMS in plan.adapted,
    )


def types_view(plan: Plan, frame: Frame) -> TypesView:
    """Return the view of the types in the shipped BERT."""
    half, ops = predicates.half_type(plan), _op_types(plan, frame)
    full = TensorflowAdaptation.MASTER_WEIGHTS in plan.adapted
    looked_up = "float32" if ops.embeddings == "float32" else f"mixed_{half}"
    return TypesView(
        half=half,
        point=_cast(ops.pointwise),
        reduce=_cast(ops.reductions),
        embedding=half if full else looked_up,
        widens=full and ops.embeddings == "float32",
    )


def _policy(plan: Plan, frame: Frame) -> str:
    half = plan.get(Autocast).compute_dtype
    if TensorflowAdaptation.MASTER_WEIGHTS in plan.adapted:
        return half
    if TensorflowAdaptation.MIXED_POLICY not in plan.adapted:
        return "float32"
    return "float32" if _op_types(plan, frame).matmul == "float32" else f"mixed_{half}"


def _op_types(plan: Plan, frame: Frame) -> OpTypes:
    """Return the types of classes of operations in the shipped model."""
    return frame.op_types if TensorflowAdaptation.OWN_TYPES in plan.adapted else OpTypes()


def _cast(chosen: Literal["compute", "float32"]) -> Cast:
    return "float32" if chosen == "float32" else "half"
