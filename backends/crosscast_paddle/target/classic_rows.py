"""What the classic Paddle scripts can express: facts read in their sources, none of them measured.

The scripts fix their optimizer, clipping, schedules and model; a recipe either says the same or is
refused. What is approximate holds for every recipe in half precision, see
docs/reference/paddle-launch-scripts.md.
"""

from __future__ import annotations

from functools import partial

import crosscast_paddle.target.classic_conditions as no
from crosscast.plan import predicates
from crosscast.recipe import predicates as recipes
from crosscast.targets.capability import Evidence, Row, Verdict
from crosscast_paddle.target.attention_rows import HOW_TO_SAY_EXPLICIT
from crosscast_paddle.target.conditions import adds_to_norm, other_loss

ALL = frozenset({"lark", "ernie", "models-bert"})
LARK = frozenset({"lark"})
ERNIE = frozenset({"ernie"})
MODELS = frozenset({"models-bert"})
BERTS = LARK | MODELS
SOURCE = "none: the scripts are not shipped"
LAUNCH = "paddle/test_launch_scripts.py::"
_row = partial(Row, evidence=Evidence.DOCUMENTED, dialects=ALL)
_not = partial(_row, verdict=Verdict.UNSUPPORTED, probe=SOURCE)
_near = partial(_row, verdict=Verdict.APPROXIMATE, probe=SOURCE)

MODEL_ROWS = (
    _not(
        path="model",
        how="the script builds BERT, no model of yours",
        code="CC388",
        when=recipes.own_model,
    ),
    _not(
        path="model.intermediate_size",
        how="the feed-forward layer is 4 times as wide as the encoder",
        code="CC388",
        when=no.narrow,
    ),
    _not(
        path="model.layer_norm_eps",
        how="LayerNorm has Paddle's epsilon: write 1e-5",
        code="CC388",
        when=no.other_norm_eps,
    ),
    _not(
        path="model.dropout",
        how="the classifier always drops 0.1 of its input",
        code="CC388",
        when=no.other_dropout,
    ),
    _not(
        path="model.labels",
        how="the tasks of the script have 2 or 3 classes",
        code="CC388",
        when=no.other_classes,
        dialects=BERTS,
    ),
    _near(
        path="model.init_std",
        how="fresh weights come from a truncated normal; the classifier's has the deviation 0.02",
        code="CC388",
    ),
    _not(
        path="loss",
        how="cross-entropy of the labels, without smoothing or weights of classes",
        code="CC386",
        when=other_loss,
    ),
    _row(path="loss", how="cross-entropy, one label per row"),
    _not(path="metrics", how="loss and accuracy", code="CC386", when=recipes.own_metrics),
    _row(path="metrics", how="none of your own"),
    _row(path="model.labels", how="--num_labels, or the task"),
    _near(
        path="model.attention",
        how=f"the script keeps its scores{HOW_TO_SAY_EXPLICIT}",
        code="CC369",
        when=recipes.fused_attention,
    ),
    _row(path="model", how="a configuration file beside run.sh"),
)
DATA_ROWS = (
    _near(
        path="seed",
        how="--random_seed orders the rows with NumPy's older generator",
        code="CC387",
        dialects=BERTS,
    ),
    _near(
        path="seed",
        how="--random_seed orders the rows with NumPy's older generator; dropout has no seed",
        code="CC387",
        dialects=ERNIE,
    ),
    _near(path="data", how="the script reads and tokenises text files by itself", code="CC387"),
    _row(path="data.sequence_length", how="--max_seq_len"),
    _not(
        path="data.shuffle",
        how="--shuffle is dead, rows are always shuffled",
        code="CC392",
        when=no.fixed_order,
        dialects=ERNIE,
    ),
    _row(path="data.shuffle", how="--shuffle"),
    _row(path="batch", how="--batch_size is that of one GPU"),
    _not(
        path="accumulation.steps",
        how="one batch is one step",
        code="CC386",
        when=recipes.accumulates,
    ),
    _near(
        path="accumulation.tail",
        how="batches are cut across the end of an epoch, as with tail: carry",
        code="CC387",
        when=no.not_carried,
        dialects=BERTS,
    ),
    _near(
        path="accumulation.tail",
        how="a short last batch is stepped with its own mean, on whatever GPU it falls",
        code="CC387",
        when=no.not_flushed,
        dialects=ERNIE,
    ),
    _not(
        path="accumulation.normalize_by",
        how="the loss is the mean of all rows: none is without a label",
        code="CC386",
        when=recipes.by_tokens,
    ),
    _near(
        path="accumulation.normalize_by",
        how="the mean is that of all rows, also where a GPU has fewer of them",
        code="CC387",
        when=no.counts_micro_batches,
    ),
    _near(
        path="accumulation.dtype",
        how="one batch is one step: which gradients are float16 is the script's choice",
        code="CC389",
        step=predicates.half_sums,
    ),
    _row(path="accumulation", how="one batch is one step"),
    _not(path="distributed.nodes", how="one machine", code="CC386", when=recipes.several_nodes),
    _row(path="distributed", how="one process for all GPUs, mean of their gradients"),
    _not(
        path="tracking", how="the script prints its losses and reports to no tracker", code="CC386"
    ),
    _near(path="launch", how="run.sh starts the script, and no scheduler does", code="CC386"),
    _not(
        path="activation_checkpointing",
        how="activations are kept",
        code="CC386",
        when=recipes.recomputes,
    ),
    _row(path="activation_checkpointing", how="activations are kept"),
    _not(path="ema", how="weights are not averaged", code="CC386", step=predicates.averages),
)
PRECISION_ROWS = (
    _row(path="precision.tf32", how="NVIDIA_TF32_OVERRIDE"),
    _not(
        path="precision",
        how="float16 is the only half type",
        code="CC389",
        step=predicates.bfloat16,
    ),
    _near(
        path="precision",
        how="all but LayerNorm is float16, weights and loss too, with float32 masters",
        code="CC389",
        when=recipes.float16,
        dialects=LARK,
    ),
    _near(
        path="precision",
        how="the encoder but its LayerNorm is float16, weights too, with float32 masters",
        code="CC389",
        when=recipes.float16,
        dialects=ERNIE,
    ),
    _near(
        path="precision",
        how="Paddle's lists of static graphs decide, word embeddings are float32",
        code="CC389",
        when=recipes.float16,
        dialects=MODELS,
    ),
    _row(path="precision", how="float32"),
)
SCALING_ROWS = (
    _not(
        path="loss_scaling",
        how="the scale is constant",
        code="CC393",
        step=predicates.dynamic,
        dialects=LARK,
    ),
    _not(
        path="loss_scaling",
        how="the constant scale is a float16 number, at least 1",
        code="CC393",
        when=no.beyond_half,
        dialects=LARK,
    ),
    _not(
        path="loss_scaling",
        how="the scale has the floor 1 and no ceiling, overflows count in a row",
        code="CC393",
        when=no.own_rule,
        dialects=ERNIE | MODELS,
    ),
    _not(
        path="loss_scaling",
        how="the flags are dead: interval 1000, hysteresis 2, factors 2 and 0.8 are built in",
        code="CC392",
        when=no.unsayable_rule,
        dialects=MODELS,
    ),
    _near(
        path="loss_scaling.mode",
        how="on overflow Adam steps with zero gradients: moments fade, weights coast and decay",
        code="CC390",
        step=predicates.dynamic,
        dialects=ERNIE | MODELS,
    ),
    _near(
        path="loss_scaling.mode",
        how="nothing is looked for: an overflow ruins the weights",
        code="CC390",
        step=predicates.static,
    ),
    _near(
        path="loss_scaling.scale",
        how="a constant scale of 1 is none",
        code="CC393",
        when=no.scaled_by_one,
    ),
    _row(
        path="loss_scaling.growth_interval",
        verdict=Verdict.ADAPTED,
        how="--incr_every_n_steps is one less, the script counts one more",
        code="CC391",
        probe=f"{LAUNCH}test_ernie_counts_one_more",
        dialects=ERNIE,
    ),
    _row(
        path="loss_scaling.hysteresis",
        verdict=Verdict.ADAPTED,
        how="--decr_every_n_nan_or_inf is one less, the script counts one more",
        code="CC391",
        probe=f"{LAUNCH}test_ernie_counts_one_more",
        dialects=ERNIE,
    ),
    _row(path="loss_scaling", how="--loss_scaling", dialects=LARK),
    _row(
        path="loss_scaling",
        how="--init_loss_scaling and the flags of its rule",
        dialects=ERNIE | MODELS,
    ),
)
STEP_ROWS = (
    _not(
        path="clipping",
        how="the norm is clipped to 1 times --loss_scaling: write that max_norm, and eps 0",
        code="CC394",
        when=no.other_lark_clipping,
        dialects=LARK,
    ),
    _not(
        path="clipping",
        how="the global norm is clipped: write max_norm 1 and eps 0",
        code="CC394",
        when=no.other_clipping,
        dialects=ERNIE | MODELS,
    ),
    _near(path="clipping.eps", how="nothing is added to the norm", code="CC394", step=adds_to_norm),
    _row(path="clipping", how="fixed in the script"),
    _not(
        path="optimizer",
        how="Adam with decoupled decay is the only optimizer",
        code="CC395",
        when=no.other_optimizer,
    ),
    _not(path="optimizer.betas", how="betas are 0.9 and 0.999", code="CC395", when=no.other_betas),
    _not(path="optimizer.eps", how="eps is 1e-8", code="CC395", when=no.other_eps),
    _not(
        path="optimizer.no_decay",
        how="biases and LayerNorm do not decay, all else does",
        code="CC395",
        when=no.other_decay,
    ),
    _not(
        path="optimizer.groups",
        how="one rate and one decay for all",
        code="CC395",
        step=predicates.grouped,
    ),
    _not(
        path="optimizer.bias_correction",
        how="the bias correction is on",
        code="CC395",
        step=predicates.uncorrected_adam,
    ),
    _near(
        path="optimizer.eps_placement",
        how="Paddle 1 adds eps before the bias correction",
        code="CC395",
        when=no.eps_after_correction,
        dialects=LARK | ERNIE,
    ),
    _near(
        path="optimizer.eps_placement",
        how="Paddle 1 adds eps before the bias correction, Paddle 2 after it",
        code="CC395",
        dialects=MODELS,
    ),
    _row(path="optimizer", how="fixed in the script but for --learning_rate and --weight_decay"),
    _not(
        path="schedule.name",
        how="write linear with decay_from: start, end_lr 0 and a warm-up, or constant without one",
        code="CC396",
        when=no.other_schedule,
    ),
    _not(
        path="schedule.tick",
        how="an overflowed step counts: write tick: attempt",
        code="CC396",
        when=no.counts_updates,
    ),
    _near(
        path="schedule.tick",
        how="nothing is looked for, so every step counts",
        code="CC396",
        when=no.skips_nothing,
    ),
    _near(path="schedule.name", how="noam_decay is one step ahead", code="CC396", when=no.noam),
    _near(
        path="schedule.total_steps",
        how="whole epochs, run.sh tells how many steps they are",
        code="CC385",
    ),
    _row(path="schedule", how="--lr_scheduler and --warmup_proportion"),
)

CLASSIC_ROWS = (*MODEL_ROWS, *DATA_ROWS, *PRECISION_ROWS, *SCALING_ROWS, *STEP_ROWS)
