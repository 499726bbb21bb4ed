"""Rows of what only some recipes ask for: half weights, scopes of clipping, other optimizers."""

from __future__ import annotations

from crosscast.recipe import predicates
from crosscast.recipe.document import (
    Adafactor,
    Adam,
    AdamW,
    BertModel,
    Lamb,
    Lion,
    Recipe,
)
from crosscast.targets.capability import Evidence, Row, Verdict


def recomputes_dropout(recipe: Recipe) -> bool:
    """Whether the backward pass must draw the dropout masks of encoder layers again."""
    dropout = isinstance(recipe.model, BertModel) and recipe.model.dropout > 0
    return recipe.activation_checkpointing and dropout


def _not_in_paddle(recipe: Recipe) -> bool:
    return isinstance(recipe.optimizer, Lion | Adafactor)


def _uncorrected(recipe: Recipe) -> bool:
    optimizer = recipe.optimizer
    return isinstance(optimizer, Adam | AdamW | Lamb) and not optimizer.bias_correction


def _eps_hat(recipe: Recipe) -> bool:
    optimizer = recipe.optimizer
    return isinstance(optimizer, Adam | AdamW) and optimizer.eps_placement == "before_correction"


KNOB_ROWS = (
    Row(
        path="precision.param_dtype",
        verdict=Verdict.ADAPTED,
        how="a half copy of the model computes gradients; the optimizer has the float32 weights",
        code="CC353",
        probe="paddle/test_half_weights.py::test_gradients_of_half_weights_are_summed_in_half",
        when=predicates.half_weights,
    ),
    Row(
        path="accumulation.dtype",
        verdict=Verdict.ADAPTED,
        how="Paddle sums gradients of half weights in half; cast after the last micro-batch",
        code="CC354",
        probe="paddle/test_half_weights.py::test_gradients_of_half_weights_are_summed_in_half",
        when=predicates.half_sums,
    ),
    Row(
        path="precision.ops",
        verdict=Verdict.ADAPTED,
        how="the model casts explicitly: auto_cast takes operation names, not classes",
        code="CC357",
        evidence=Evidence.DOCUMENTED,
        probe="paddle/test_amp.py::test_auto_cast_knows_names_of_operations_only",
        when=predicates.own_types,
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
        when=predicates.clips_each,
    ),
    Row(
        path="clipping.exempt",
        verdict=Verdict.ADAPTED,
        how="the clip functions ignore need_clip: they get only the parameters to clip",
        code="CC356",
        probe="paddle/test_clip.py::test_need_clip_is_ignored",
        when=predicates.clips_some,
    ),
    Row(
        path="optimizer.name",
        verdict=Verdict.ADAPTED,
        how="Paddle has neither Lion nor Adafactor: the script defines the class",
        code="CC349",
        probe="paddle/test_optimizer.py::test_lion_and_adafactor_are_missing",
        when=_not_in_paddle,
    ),
    Row(
        path="optimizer.rate_in_momentum",
        verdict=Verdict.ADAPTED,
        how="Paddle's Momentum applies the rate outside the momentum: the script defines its own",
        code="CC350",
        probe="paddle/test_optimizer.py::test_the_rate_is_outside_the_momentum",
        when=predicates.rate_in_momentum,
    ),
    Row(
        path="optimizer.bias_correction",
        verdict=Verdict.ADAPTED,
        how="Paddle's Adam, AdamW and Lamb always correct the bias: the script defines the class",
        code="CC351",
        probe="paddle/test_optimizer.py::test_the_bias_is_always_corrected",
        when=_uncorrected,
    ),
    Row(
        path="optimizer.eps_placement",
        verdict=Verdict.ADAPTED,
        how="Paddle adds epsilon after the bias correction: the script defines the class",
        code="CC351",
        probe="paddle/test_optimizer.py::test_epsilon_is_added_behind_the_correction",
        when=_eps_hat,
    ),
)
