"""What JAX can express, and how. One row a fact; see crosscast.targets.capability.Row."""

from __future__ import annotations

from crosscast.plan import predicates
from crosscast.recipe.predicates import (
    coupled_decay,
    fused_attention,
    own_half_model,
    recomputes,
)
from crosscast.targets.capability import Row, Verdict
from crosscast.targets.neutral_rows import neutral_rows
from crosscast.targets.tracking_rows import TRACKING_ROWS
from crosscast_jax.target.adaptations import JaxAdaptation as Adapt
from crosscast_jax.target.conditions import (
    adds_epsilon,
    corrected,
    typed_layers,
)

_ADAPTED, _UNSUPPORTED = Verdict.ADAPTED, Verdict.UNSUPPORTED

ROWS = (
    *neutral_rows("jax"),
    *TRACKING_ROWS,
    Row(path="seed", how="keys of jax.random, folded with the window; NumPy orders the rows"),
    Row(path="model", how="Flax NNX modules, or the user's factory"),
    Row(
        path="model.attention",
        verdict=_ADAPTED,
        how="no fused attention with dropout: the backward pass computes attention again",
        code="CC417",
        probe="jax/test_attention.py::test_attention_computed_again_keeps_no_scores",
        when=fused_attention,
        adapt=Adapt.RECOMPUTED_ATTENTION,
    ),
    Row(path="model.attention", how="two matrix products and a softmax"),
    Row(path="data", how="read as NumPy arrays, the same row order on every framework"),
    Row(path="data.workers", how="threads, which read micro-batches ahead"),
    Row(path="batch", how="rows of a window cut into micro-batches"),
    Row(
        path="precision",
        verdict=_ADAPTED,
        how="no autocast: your model gets half copies of its weights",
        code="CC410",
        probe="jax/test_types.py::test_layers_follow_their_weights",
        when=own_half_model,
        adapt=Adapt.HALF_COPIES,
    ),
    Row(
        path="precision",
        how="half copies of the weights; types of layers in the emitted model",
        step=predicates.half_weights,
    ),
    Row(
        path="precision",
        how="types of layers in the emitted model; float32 weights",
        when=typed_layers,
    ),
    Row(path="precision", how="float32 weights, float32 operations"),
    Row(path="precision.mode", how="float32 weights"),
    Row(
        path="precision.param_dtype",
        how="files hold the float32 weights",
        step=predicates.half_weights,
        adapt=Adapt.HALF_COPIES,
    ),
    Row(path="precision.tf32", how="jax_default_matmul_precision"),
    Row(
        path="loss_scaling",
        verdict=_ADAPTED,
        how="optax scales no losses: the script's LossScale sets the scale",
        code="CC411",
        probe="jax/test_optax.py::test_nothing_scales_losses",
        step=predicates.dynamic,
        adapt=Adapt.LOSS_SCALE,
    ),
    Row(
        path="loss_scaling",
        verdict=_ADAPTED,
        how="optax scales no losses: the script skips steps that overflow",
        code="CC411",
        probe="jax/test_optax.py::test_nothing_scales_losses",
        step=predicates.static,
        adapt=Adapt.CONSTANT_SCALE,
    ),
    Row(path="loss_scaling", how="losses are not scaled"),
    Row(path="accumulation", how="sums in a loop that is compiled, not optax.MultiSteps"),
    Row(path="clipping", how="norms and limits of optax.tree and jax.numpy"),
    Row(
        path="clipping.eps",
        verdict=_ADAPTED,
        how="optax.clip_by_global_norm has no epsilon: the script clips with it",
        code="CC413",
        probe="jax/test_optax.py::test_clip_adds_nothing_to_the_norm",
        step=adds_epsilon,
        adapt=Adapt.OWN_CLIP,
    ),
    Row(path="clipping.exempt", how="by the module that holds a weight, and by its name"),
    Row(path="optimizer", how="transformations of optax, the neutral formulas"),
    Row(
        path="optimizer.name",
        verdict=_ADAPTED,
        how="optax.adafactor is another algorithm: the script defines the neutral one",
        code="CC415",
        probe="jax/test_optax.py::test_adafactor_factors_large_matrices_only",
        step=predicates.adafactor,
        adapt=Adapt.OWN_ADAFACTOR,
    ),
    Row(
        path="optimizer.bias_correction",
        verdict=_ADAPTED,
        how="optax always corrects: the script's Adam does not",
        code="CC419",
        probe="jax/test_optax.py::test_adam_always_corrects",
        step=predicates.uncorrected,
        adapt=Adapt.UNCORRECTED,
    ),
    Row(
        path="optimizer.eps_placement",
        verdict=_ADAPTED,
        how="optax adds epsilon after the correction: the script's Adam adds it before",
        code="CC419",
        probe="jax/test_optax.py::test_adam_always_corrects",
        step=predicates.raw_epsilon,
        adapt=Adapt.RAW_EPSILON,
    ),
    Row(
        path="optimizer.betas",
        verdict=_ADAPTED,
        how="optax rounds 1 - beta**t in float32: the script computes it without cancellation",
        code="CC414",
        probe="jax/test_optax.py::test_corrections_are_rounded",
        step=corrected,
        adapt=Adapt.EXACT_CORRECTIONS,
    ),
    Row(
        path="optimizer.rate_in_momentum",
        verdict=_ADAPTED,
        how="optax.trace leaves the rate outside: the script defines this momentum",
        code="CC416",
        probe="jax/test_optax.py::test_the_rate_is_outside_the_momentum",
        step=predicates.rate_in_momentum,
        adapt=Adapt.OWN_MOMENTUM,
    ),
    Row(
        path="optimizer.weight_decay",
        how="optax.add_decayed_weights before the optimizer: coupled (L2) decay",
        when=coupled_decay,
        adapt=Adapt.COUPLED_DECAY,
    ),
    Row(path="optimizer.groups", how="trees of factors and decays, by names of weights"),
    Row(path="schedule", how="a formula in the script; the rate is an argument of the step"),
    Row(path="ema", how="averages beside the weights, updated in the compiled step"),
    Row(
        path="activation_checkpointing",
        how="nnx.remat of every encoder layer; dropout draws the same masks again",
        when=recomputes,
        adapt=Adapt.RECOMPUTATION,
    ),
    Row(
        path="distributed",
        verdict=_UNSUPPORTED,
        how="the script trains in one process",
        code="CC418",
        probe="none: the script has no other way",
        step=predicates.parallel,
    ),
    Row(path="distributed", how="one process"),
)
