"""Rows of what only some recipes ask for: half weights, scopes of clipping, other optimizers."""

from __future__ import annotations

from crosscast.plan import predicates
from crosscast.plan.operations import Plan, Step
from crosscast.recipe.document import BertModel, Recipe
from crosscast.targets.capability import Evidence, Row, Verdict
from crosscast_paddle.target.adaptations import PaddleAdaptation as Adapt
from crosscast_paddle.target.conditions import casts_explicitly, copies_weights


def recomputes_dropout(recipe: Recipe) -> bool:
    """Whether the backward pass must draw the dropout masks of encoder layers again."""
    dropout = isinstance(recipe.model, BertModel) and recipe.model.dropout > 0
    return recipe.activation_checkpointing and dropout


def _not_in_paddle(plan: Plan) -> bool:
    return plan.get(Step).optimizer in ("lion", "adafactor")


def _rounds_shares(plan: Plan) -> bool:
    step = plan.get(Step)
    stock = step.optimizer in ("adam", "adamw", "lamb") and not predicates.uncorrected(plan)
    return stock and not predicates.raw_epsilon(plan) and predicates.rounds_shares(plan)


KNOB_ROWS = (
    Row(
        path="precision.param_dtype",
        verdict=Verdict.ADAPTED,
        how="a half copy of the model computes gradients; the optimizer has the float32 weights",
        code="CC353",
        probe="paddle/test_half_weights.py::test_gradients_of_half_weights_are_summed_in_half",
        step=predicates.half_weights,
        adapt=Adapt.HALF_COPY,
    ),
    Row(
        path="precision.param_dtype",
        how="float32, with half copies of the weights of layers, made once per window",
        when=copies_weights,
        adapt=Adapt.HALF_COPY,
    ),
    Row(
        path="accumulation.dtype",
        verdict=Verdict.ADAPTED,
        how="Paddle sums gradients of half weights in half; cast after the last micro-batch",
        code="CC354",
        probe="paddle/test_half_weights.py::test_gradients_of_half_weights_are_summed_in_half",
        step=predicates.half_sums,
        adapt=Adapt.LATE_SUMS,
    ),
    Row(
        path="precision.ops",
        how="half kernels of GPUs, which in Paddle's source compute in float32 and round once; "
        "embeddings and loss are cast",
        evidence=Evidence.DOCUMENTED,
        probe="paddle/test_half.py::test_layers_take_weights_of_their_own_type",
        when=copies_weights,
        adapt=Adapt.HALF_COPIES,
    ),
    Row(
        path="precision.ops",
        verdict=Verdict.ADAPTED,
        how="the model casts explicitly: auto_cast takes operation names, not classes",
        code="CC357",
        evidence=Evidence.DOCUMENTED,
        probe="paddle/test_amp.py::test_auto_cast_knows_names_of_operations_only",
        when=casts_explicitly,
        adapt=Adapt.EXPLICIT_CASTS,
    ),
    Row(path="ema", how="averaged in float32 after every update"),
    Row(
        path="activation_checkpointing",
        verdict=Verdict.ADAPTED,
        how="recompute restores random states of GPUs only: on a CPU the script exits with code 3",
        code="CC358",
        probe="paddle/test_recompute.py::test_paddle_2_recomputes_no_dropout_on_cpu",
        when=recomputes_dropout,
        dialects=frozenset({"dygraph2"}),
        adapt=Adapt.GPU_RECOMPUTATION,
    ),
    Row(
        path="activation_checkpointing",
        how="fleet.utils.recompute, not reentrant because of DataParallel, around encoder layers",
    ),
    Row(
        path="clipping.kind",
        verdict=Verdict.ADAPTED,
        how="ClipGradByNorm has no epsilon: the script clips each gradient",
        code="CC355",
        probe="paddle/test_clip.py::test_clipping_by_each_norm_has_no_epsilon",
        step=predicates.clips_each,
        adapt=Adapt.EACH_NORM,
    ),
    Row(
        path="clipping.exempt",
        verdict=Verdict.ADAPTED,
        how="the clip functions ignore need_clip: they get only the parameters to clip",
        code="CC356",
        probe="paddle/test_clip.py::test_need_clip_is_ignored",
        step=predicates.clips_some,
        adapt=Adapt.EXEMPT,
    ),
    Row(
        path="optimizer.name",
        verdict=Verdict.ADAPTED,
        how="Paddle has neither Lion nor Adafactor: the script defines the class",
        code="CC349",
        probe="paddle/test_optimizer.py::test_lion_and_adafactor_are_missing",
        step=_not_in_paddle,
        adapt=Adapt.OWN_OPTIMIZER,
    ),
    Row(
        path="optimizer.rate_in_momentum",
        verdict=Verdict.ADAPTED,
        how="Paddle's Momentum applies the rate outside the momentum: the script defines its own",
        code="CC350",
        probe="paddle/test_optimizer.py::test_the_rate_is_outside_the_momentum",
        step=predicates.rate_in_momentum,
        adapt=Adapt.OWN_MOMENTUM,
    ),
    Row(
        path="optimizer.betas",
        verdict=Verdict.ADAPTED,
        how="Paddle's kernels compute 1 - beta in float32, which is over 1e-4 off for betas this "
        "close to 1: the script defines the class",
        code="CC383",
        probe="paddle/test_optimizer.py::test_kernels_take_one_minus_beta_in_float32",
        step=_rounds_shares,
        adapt=Adapt.EXACT_BETAS,
    ),
    Row(
        path="optimizer.bias_correction",
        verdict=Verdict.ADAPTED,
        how="Paddle's Adam, AdamW and Lamb always correct the bias: the script defines the class",
        code="CC351",
        probe="paddle/test_optimizer.py::test_the_bias_is_always_corrected",
        step=predicates.uncorrected,
        adapt=Adapt.UNCORRECTED,
    ),
    Row(
        path="optimizer.eps_placement",
        verdict=Verdict.ADAPTED,
        how="Paddle adds epsilon after the bias correction: the script defines the class",
        code="CC351",
        probe="paddle/test_optimizer.py::test_epsilon_is_added_behind_the_correction",
        step=predicates.raw_epsilon,
        adapt=Adapt.RAW_EPSILON,
    ),
)
