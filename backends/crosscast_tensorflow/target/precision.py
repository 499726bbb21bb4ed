"""Under which policy the emitted Keras model computes, and what the training state holds."""

from __future__ import annotations

from dataclasses import dataclass

from crosscast.emit.frame import Frame
from crosscast.plan import predicates
from crosscast.plan.operations import Autocast, Dtype, Plan
from crosscast.recipe.document import OpTypes
from crosscast_tensorflow.target.adaptations import TensorflowAdaptation


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionView:
    """What the forward pass computes in."""

    policy: str
    """Dtype policy of Keras under which the layers are built."""
    rewrite: bool
    """Whether TensorFlow rewrites parts of the graph to float16."""
    logits: Dtype
    """Type in which the loss gets its logits."""
    loss: Dtype
    """Type that the losses of rows are rounded to."""

    @property
    def rounds_loss(self) -> bool:
        """Whether the script rounds losses: TensorFlow does it by itself for float16 logits."""
        return self.loss != "float32" and self.logits != "float16"


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


def precision_view(plan: Plan, frame: Frame) -> PrecisionView:
    """Return the view of the forward pass."""
    half, losses = plan.get(Autocast).compute_dtype, op_types(plan, frame).losses
    return PrecisionView(
        policy=_policy(plan, frame),
        rewrite=TensorflowAdaptation.GRAPH_REWRITE in plan.adapted,
        logits=half if losses == "half" else "float32",
        loss="float32" if losses == "float32" else half,
    )


def state_view(plan: Plan) -> StateView:
    """Return the view of the training state."""
    return StateView(
        copies=TensorflowAdaptation.MASTER_WEIGHTS in plan.adapted,
        averages=TensorflowAdaptation.OWN_AVERAGE in plan.adapted,
        half_sums=predicates.half_sums(plan),
        own_sums=TensorflowAdaptation.OWN_SUMS in plan.adapted,
    )


def _policy(plan: Plan, frame: Frame) -> str:
    half = plan.get(Autocast).compute_dtype
    if TensorflowAdaptation.MASTER_WEIGHTS in plan.adapted:
        return half
    if TensorflowAdaptation.MIXED_POLICY not in plan.adapted:
        return "float32"
    return f"mixed_{half}" if op_types(plan, frame).matmul == "half" else "float32"


def op_types(plan: Plan, frame: Frame) -> OpTypes:
    """Return the types of classes of operations in the shipped model."""
    own = {TensorflowAdaptation.OWN_TYPES, TensorflowAdaptation.STORED_TYPES} & plan.adapted
    return frame.op_types if own else OpTypes()
