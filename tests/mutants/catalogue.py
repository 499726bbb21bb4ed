"""The bugs: name, what it is, the recipe field it mistakes, and the levels that should see it.

One bug has one name in every framework; `bugs` reads the edits, written with `spelling`, from its
modules. Left out is what needs several processes (the sum instead of the mean over replicas is a
wrong division here, `sum_loss`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from crosscast_parity.checks.kinds import Level


@dataclass(frozen=True, slots=True)
class Bug:
    """A bug in words.

    `field`: recipe path of which it is another value; empty if no value of one field says what it
    does. `expected`: levels that catch it; the first one says most about the cause. `half`: it
    exists in half precision only.
    """

    name: str
    title: str
    field: str
    expected: tuple[Level, ...]
    half: bool = False


def _bug(name: str, title: str, field: str, *expected: Level) -> Bug:
    return Bug(name, title, field, expected)


def _half(name: str, title: str, field: str, *expected: Level) -> Bug:
    return Bug(name, title, field, expected, half=True)


ACCUMULATION = (
    _bug("no_accum_div", "micro-batch means are summed, not averaged", "", "L1b", "L1a"),
    _bug("sum_loss", "the loss is summed over rows, not averaged", "", "L1b", "L1a"),
    _bug("last_micro_dropped", "the last micro-batch of a window is not trained on", "", "L1a"),
    _bug(
        "zero_grad_each_micro", "gradients are cleared before every micro-batch", "", "L1b", "L1a"
    ),
    _bug("zero_grad_missing", "gradients are never cleared", "", "L1b"),
    _half("fp16_grad_accum", "gradients are summed in half precision", "accumulation.dtype", "L1b"),
    _bug("tail_dropped", "the short last window of an epoch is left out", "", "L0a"),
    _bug(
        "tail_div_by_count",
        "a short last window is divided by the rows of a full one",
        "accumulation.tail",
        "L0c",
    ),
    _bug(
        "mean_of_means",
        "micro-batches count alike, however many rows they have",
        "accumulation.normalize_by",
        "L0c",
    ),
    _bug("step_per_micro", "the optimizer steps after every micro-batch", "", "L0a"),
    _bug("loss_of_last_micro", "the reported loss is that of the last micro-batch", "", "L2"),
)

SCALING = (
    _half("clip_before_unscale", "the scaled gradients are clipped", "", "L0c", "L1b"),
    _half("no_unscale", "gradients stay multiplied by the loss scale", "", "L0c", "L1b"),
    _half("no_skip_overflow", "the optimizer steps on overflowed gradients", "", "L0a"),
    _half(
        "interval_off_by_one",
        "the scale grows one clean window late",
        "loss_scaling.growth_interval",
        "L0b",
        "L0a",
    ),
    _half(
        "scale_never_grows", "the scale only falls", "loss_scaling.growth_interval", "L0b", "L0a"
    ),
    _half(
        "scale_init_x2",
        "the scale starts at twice its value",
        "loss_scaling.init_scale",
        "L0b",
        "L0a",
    ),
    _half(
        "growth_x4", "the scale grows by four, not two", "loss_scaling.growth_factor", "L0b", "L0a"
    ),
    _half(
        "backoff_quarter",
        "the scale falls to a quarter, not half",
        "loss_scaling.backoff_factor",
        "L0b",
        "L0a",
    ),
    _half("no_scaler", "half precision without loss scaling", "loss_scaling.mode", "L0b", "L0a"),
    _half("sched_on_skip", "skipped windows advance the schedule", "schedule.tick", "L0b", "L0a"),
    _half(
        "update_per_micro", "the loss scale is adjusted after every micro-batch", "", "L0b", "L0a"
    ),
    _half("no_dynamic", "the scale is static", "loss_scaling.mode", "L0b", "L0a"),
    _half(
        "hysteresis_2",
        "only the second overflow in a row lowers the scale",
        "loss_scaling.hysteresis",
        "L0b",
        "L0a",
    ),
    _half("growth_not_reset", "an overflow does not restart the wait for growth", "", "L0b", "L0a"),
    _half("nan_to_num", "inf and nan in gradients become zeros", "", "L0b"),
    _half("overflow_micro_dropped", "an overflowed micro-batch is left out", "", "L0b"),
    _half("zero_grad_not_on_skip", "skipped windows keep their gradients", "", "L0a"),
    _half("step_on_zeros", "skipped windows step with zero gradients", "", "L0c"),
    _half("unscale_in_half", "unscaled gradients are rounded to half", "", "L1b"),
)

OPTIMIZER = (
    _bug("eps_1e-6", "epsilon 1e-6", "optimizer.eps", "L1b"),
    _bug("eps_1e-7", "epsilon 1e-7, the default of Keras", "optimizer.eps", "L1b"),
    _bug(
        "eps_hat", "epsilon is added before the bias correction", "optimizer.eps_placement", "L1b"
    ),
    _bug("eps_inside_sqrt", "epsilon is added under the root", "", "L1b"),
    _bug("no_bias_corr", "no bias correction", "optimizer.bias_correction", "L1b"),
    _bug("l2_not_decoupled", "weight decay through the gradient", "optimizer.name", "L1b"),
    _bug("wd_on_all", "biases and LayerNorm decay", "optimizer.no_decay", "L1b"),
    _bug("wd_on_layer_norm", "the weights of LayerNorm decay", "optimizer.no_decay", "L1b"),
    _bug("wd_not_on_embeddings", "embeddings do not decay", "optimizer.no_decay", "L1b"),
    _bug("wd_zero", "no weight decay", "optimizer.weight_decay", "L1b"),
    _bug("wd_base_rate", "decay by the base rate, not the scheduled one", "", "L1b"),
    _bug("beta2_0.98", "second beta 0.98", "optimizer.betas", "L1b"),
    _bug("beta1_0.95", "first beta 0.95", "optimizer.betas", "L1b"),
    _bug("nesterov", "Nesterov momentum in Adam", "", "L1b"),
    _bug("amsgrad", "AMSGrad: the largest second moment so far", "", "L1b"),
    _bug("bias_corr_per_micro", "bias correction counts micro-batches", "", "L1b"),
    _bug("lazy_moments", "moments rest where a gradient is zero", "", "L1b"),
    _bug("moments_reset", "the moments are lost in window 16", "", "L2"),
)

SCHEDULE = (
    _bug("warmup_off_by_one", "the warm-up is one window longer", "schedule.warmup_steps", "L0b"),
    _bug("warmup_starts_one", "the warm-up starts at one step, not at zero", "", "L0b"),
    _bug("warmup_in_micro", "the schedule counts micro-batches", "", "L0b"),
    _bug("no_warmup", "no warm-up", "schedule.warmup_steps", "L0b"),
    _bug("cosine_decay", "cosine decay for linear", "schedule.name", "L0b"),
    _bug("decay_to_total_x2", "decay over twice the windows", "schedule.total_steps", "L0b"),
    _bug("power_2", "quadratic decay", "schedule.power", "L0b"),
    _bug("end_lr", "decay to a tenth, not to zero", "schedule.end_lr", "L0b"),
    _bug(
        "decay_from_start",
        "decay is counted from the start, not from the end of the warm-up",
        "schedule.decay_from",
        "L0b",
    ),
    _bug(
        "lr_times_steps",
        "the rate is multiplied by the number of micro-batches",
        "optimizer.learning_rate",
        "L0b",
    ),
    _bug("lr_not_set", "the scheduled rate is reported, the base rate is used", "", "L1b"),
    _bug("lr_one_late", "the optimizer uses the rate of the window before", "", "L1b"),
)

CLIPPING = (
    _bug("clip_per_param", "every tensor is clipped by its own norm", "clipping.kind", "L1b"),
    _bug("no_clip", "no clipping", "clipping.kind", "L1b"),
    _bug("clip_value", "clipping by value", "clipping.kind", "L1b"),
    _bug("clip_x2", "clipping at twice the norm", "clipping.max_norm", "L1b"),
    _bug("clip_max_norm", "the norm is the largest entry", "", "L0c", "L1b"),
    _bug("clip_per_micro", "sums are clipped after every micro-batch, too", "", "L1b"),
)

MODEL = (
    _bug("gelu_tanh", "GELU by tanh", "", "L1a"),
    _bug("quick_gelu", "GELU by the logistic function", "", "L1a"),
    _bug("relu", "ReLU for GELU", "", "L1a"),
    _bug("ln_eps_1e-3", "LayerNorm epsilon 1e-3", "model.layer_norm_eps", "L1a"),
    _bug("ln_eps_1e-5", "LayerNorm epsilon 1e-5", "model.layer_norm_eps", "L1a"),
    _bug("scale_sqrt_hidden", "attention scaled by the hidden size, not the head size", "", "L1a"),
    _bug("no_mask", "padding is attended to", "", "L1a"),
    _bug("mask_inverted", "only padding is attended to", "", "L1a"),
    _bug("dropout_on", "dropout is left on", "", "L1a"),
    _bug("tied_layout", "square weights are loaded transposed", "", "L1a"),
    _bug("heads_interleaved", "heads are cut out of the wrong features", "", "L1a"),
    _bug("qk_swapped", "queries and keys are exchanged", "", "L1a"),
    _bug("positions_off_by_one", "positions count from one", "", "L1a"),
    _bug("token_types_ignored", "every token is of type zero", "", "L1a"),
    _bug("embeddings_scaled", "embeddings are multiplied by the root of their size", "", "L1a"),
    _bug("embeddings_frozen", "word embeddings are not trained", "", "L1a"),
    _bug("pooler_no_tanh", "no tanh in the pooler", "", "L1a"),
    _bug("pooler_mean", "the pooler averages the tokens", "", "L1a"),
    _bug("residual_missing", "no residual sum", "", "L1a"),
    _bug("pre_layer_norm", "LayerNorm before the residual sum", "", "L1a"),
    _bug("head_not_loaded", "the classifier starts from weights of its own", "", "L1a"),
)

LOSS_AND_DATA = (
    _bug("label_smooth", "labels are smoothed by 0.1", "", "L1a"),
    _bug("ignore_index", "rows of class 0 do not count", "", "L1a"),
    _bug("softmax_twice", "the loss takes probabilities for logits", "", "L1a"),
    _bug("order_shift", "batches come one window early", "", "L1a"),
    _bug("no_shuffle", "rows come in the order of the file", "data.shuffle", "L1a"),
    _bug("epoch_not_reshuffled", "every epoch has the order of the first", "", "L0c"),
    _bug("unseeded_order", "the order of the rows is not seeded", "", "gate"),
    _bug("token_dropped", "the last eight tokens of every row are cut off", "", "L1a"),
)

PRECISION = (
    _half("no_master", "weights are rounded to half after every update", "", "L1b", "L0d"),
    _half("bf16_for_fp16", "bfloat16 for float16", "precision.compute_dtype", "L0d"),
    _half(
        "amp_off", "autocast is off, the loss is scaled all the same", "precision.ops.matmul", "L0d"
    ),
    _half("softmax_half", "softmax in half", "", "L0d"),
    _half("layer_norm_half", "LayerNorm in half", "", "L0d"),
    _half("gelu_half", "GELU in half", "", "L0d"),
    _half("tanh_half", "tanh of the pooler in half", "", "L0d"),
    _half("residual_half", "the residual sum in half", "", "L0d"),
    _half("loss_half", "the loss in half", "precision.ops.losses", "L0d"),
)

PRODUCTS = (
    _bug("file_of_averages", "model.safetensors holds the averages", "", "L1d"),
    _bug("file_rounded", "model.safetensors is rounded to half", "", "L1d"),
    _bug("file_in_half", "model.safetensors is in half", "", "L1d"),
    _bug("file_transposed", "square kernels of model.safetensors are transposed", "", "L1d"),
    _bug("file_one_window_old", "model.safetensors is that of the window before", "", "L1d"),
    _bug("file_without_head", "model.safetensors lacks the classifier", "", "L1d"),
    _bug("averages_file_plain", "ema.safetensors holds the weights", "", "L1d"),
    _bug("averages_file_moved", "ema.safetensors is moved to the weights once more", "", "L1d"),
    _bug("averages_not_evaluated", "the weights are evaluated twice, not the averages", "", "L1d"),
    _bug("checkpoint_of_averages", "the checkpoint holds averages for weights", "", "L1d"),
    _bug("checkpoint_rounded", "weights of the checkpoint are rounded to half", "", "L1d"),
    _bug("checkpoint_stale_moments", "its moments are those of the window before", "", "L1d"),
    _bug("checkpoint_no_moments", "its moments are zeros", "", "L1d"),
    _bug("resumed_averages_lost", "averages begin again after a resume", "", "L1d"),
    _bug("resumed_rows_again", "a resumed run begins with the first rows", "", "L1d"),
    _half("checkpoint_no_growth", "the count towards growth is not in the checkpoint", "", "L1d"),
    _bug("checkpoint_all_updates", "the checkpoint counts skipped windows as updates", "", "L1d"),
    _bug("evaluated_in_half", "the evaluation rounds the weights to half", "", "L1d"),
    _bug("evaluated_by_bfloat16", "the evaluation runs under autocast to bfloat16", "", "L1d"),
    _half("evaluated_in_float32", "the evaluation computes in float32", "", "L0d"),
    _half("evaluated_in_other_half", "the evaluation computes in bfloat16", "", "L0d"),
    _half("evaluated_loss_in_half", "the loss of the evaluation is computed in half", "", "L0d"),
    _bug("short_batch_not_evaluated", "the short last batch is not evaluated", "", "L1d"),
    _bug("last_batch_not_evaluated", "the last batch is not evaluated", "", "L1d"),
    _bug("evaluated_on_training_rows", "the training rows are evaluated", "", "L1d"),
    _bug("batches_evaluated_alike", "the mean of batch means, with a short one", "", "L1d"),
    _bug("dropout_in_evaluation", "the evaluation runs with dropout", "", "L1d"),
    _bug("one_of_two_best", "an answer among the two best is right", "", "L1d"),
    _bug("least_likely", "the least likely class is the answer", "", "L1d"),
    _half("resumed_growth_lost", "a resumed run waits for growth from the beginning", "", "L1d"),
    _bug("resumed_steps_lost", "bias correction begins again after a resume", "", "L1d"),
    _bug("resumed_epochs_again", "a resumed run begins with the first epoch", "", "L1d"),
    _bug("file_one_stale", "one tensor of model.safetensors is a window old", "", "L1d"),
    _bug("shuffled_and_cut", "rows are evaluated in another order, less the last batch", "", "L1d"),
    _bug("labels_as_booleans", "the evaluation reads labels as booleans", "", "L1d"),
    _bug("losses_summed_in_half", "the evaluation sums losses in half", "", "L1d"),
    _bug("averages_evaluated_short", "averages are evaluated without the last row", "", "L1d"),
)

# What a resume loses only after an overflow, or in one tensor.
RESUMED = (
    _half("resumed_stuck_lost", "overflows at the lowest scale are counted anew", "", "L1d"),
    _half("resumed_scale_first", "a resumed run begins with the first scale", "", "L1d", "L0b"),
    _half("resumed_all_updates", "a resumed run counts skipped windows as updates", "", "L1d"),
    _bug("resumed_norm_averages", "averages of LayerNorm begin again after a resume", "", "L1d"),
    _bug("resumed_head_averages", "averages of the classifier begin again", "", "L1d"),
    _bug("resumed_one_average", "the average of one bias is not restored", "", "L1d"),
    _bug("checkpoint_half_moments", "moments of the checkpoint are rounded to half", "", "L1d"),
    _bug("checkpoint_half_squares", "its second moments are cut to bfloat16", "", "L1d"),
    _half("status_all_updates", "status.json counts skipped windows as updates", "", "L1d"),
    _half("resumed_steps_windows", "bias correction counts windows after a resume", "", "L1b"),
    _bug("resumed_step_behind", "bias correction is one update behind after a resume", "", "L1b"),
    _bug("late_drift", "steps are 1 % longer from window 40 on", "", "L1b"),
)

# What only some frameworks invite, and what came up while the others were written down.
OF_FRAMEWORKS = (
    _bug("tail_div_by_steps", "means are divided by the micro-batches of a full window", "", "L0c"),
    _bug("tail_filled_up", "a short window repeats its rows until it is full", "", "L0a"),
    _bug("short_micro_dropped", "micro-batches of fewer rows are left out", "", "L0a"),
    _bug("rows_scattered_over", "of a token's rows in the gradient only one counts", "", "L1a"),
    _bug("sparse_gradients_dropped", "sparse gradients are not summed: embeddings rest", "", "L1a"),
    _bug("clip_without_limit", "small gradients are made larger", "", "L1b"),
    _bug("from_logits_forgotten", "the loss is that of probabilities", "", "L1a"),
    _bug("wd_default", "the framework's own weight decay", "optimizer.weight_decay", "L1b"),
    _bug("stock_adamw", "the framework's own AdamW", "optimizer.eps_placement", "L1b"),
    _bug("lr_traced_once", "the graph keeps the rate of the first window", "", "L1b"),
    _bug("step_traced_once", "the graph keeps the bias correction of the first step", "", "L1b"),
    _half("scale_traced_once", "the graph keeps the first loss scale", "", "L0c"),
    _half("growth_count_kept", "after the first growth every window grows", "", "L0b", "L0a"),
    _half("updates_on_skip", "skipped windows count as updates", "schedule.tick", "L0b", "L0a"),
    _half("step_counts_skips", "bias correction counts skipped windows", "", "L1b"),
    _half("skip_by_loss", "only the loss decides about a skip", "", "L0a"),
    _half("only_inf_checked", "nan is no overflow", "", "L0a"),
    _half("one_gradient_checked", "one gradient decides about a skip", "", "L0a"),
    _half("loss_not_scaled", "gradients are unscaled, the loss was never scaled", "", "L1b"),
    _half("scaled_after_backward", "gradients are scaled, not the loss", "", "L1b"),
    _half("skip_by_product", "updates of skipped windows are multiplied by zero", "", "L1b"),
    _half("moments_on_skip", "skipped windows move the moments", "", "L1b"),
    _half("scaler_disabled", "bfloat16 turns the scaler off", "precision.compute_dtype", "L0d"),
    _half("half_policy", "weights are float16", "precision.param_dtype", "L1b", "L0d"),
    _half("scores_float32", "attention scores in float32", "precision.ops.matmul", "L0d"),
)

# What the first windows do not show, and most of which a run of 64 windows does not reach.
LATE = (
    _bug("late_step", "steps are twice as long from window 9 on", "", "L1b"),
    _bug("late_frozen", "one tensor rests from window 11 on", "", "L1b"),
    _bug("late_tail", "short windows count as full ones from window 40 on", "", "L1b"),
    _bug("late_clear", "gradients are not cleared in window 77", "", "L1b"),
    _bug("late_decay", "no weight decay from window 100 on", "", "L1b"),
    _bug("late_clip", "no clipping from window 100 on", "", "L1b"),
    _bug("late_moments", "the second moments of one tensor are lost in window 90", "", "L1b"),
    _bug("late_rate", "the rate falls below that of the end of the schedule", "", "L0b"),
    _bug("late_last", "the step of the last window is twice as long", "", "L1b"),
    _half("late_skip", "the fourth skipped window counts as an update", "", "L0b"),
    _half("late_growth", "the wait for growth is a window shorter after the second", "", "L0b"),
    _half("late_bound", "the scale falls below its lowest value the second time", "", "L0b"),
    _bug("late_averages", "the averages stop after some thirty windows", "", "L1b"),
    _bug("late_order", "from the tenth on all epochs have one order", "", "L0c"),
    _bug("late_rate_used", "after the warm-up the optimizer's rate is a window late", "", "L1b"),
    _bug("decay_one_late", "the decay of the rate begins a window late", "", "L0b"),
    _bug("second_tail", "the short window of the second epoch counts as a full one", "", "L1b"),
    _half("late_float32", "products are in float32 from window 40 on", "", "L0d"),
    _half("averages_on_skip", "averages move in skipped windows, from the third on", "", "L1b"),
    _half("late_uncleared", "gradients of the second skipped window are kept", "", "L0b"),
    _half("good_kept", "the fourth overflow does not restart the wait for growth", "", "L0b"),
    _half("late_step_count", "bias correction counts the third skipped window", "", "L1b"),
    _half("updates_wrap", "the count of updates begins again at 128", "", "L0b"),
)

# What the mean over all tensors, or a comparison of results, does not show.
SINGLE = (
    _bug("one_norm_decays", "one weight of LayerNorm decays", "", "L1b"),
    _bug("one_eps_inside", "epsilon is under the root of one tensor", "", "L1b"),
    _bug("one_unclipped", "one tensor is neither in the norm nor clipped", "", "L1b"),
    _bug("one_average", "the average of one tensor is its weight", "", "L1b"),
    _bug("one_moment_rounded", "second moments of one tensor are bfloat16", "", "L1b"),
)

TYPES = (
    _bug("rate_in_half", "the optimizer's rate is rounded to half", "", "L1b"),
    _bug("clip_in_half", "the factor of the clipping is rounded to half", "", "L1b"),
    _bug("averages_in_half", "averages are rounded to half", "", "L1b"),
    _bug("loss_rounded", "the reported loss is rounded to half", "", "L1b"),
)

GROUPS = (
    ACCUMULATION,
    SCALING,
    OPTIMIZER,
    SCHEDULE,
    CLIPPING,
    MODEL,
    LOSS_AND_DATA,
    PRECISION,
    PRODUCTS,
    RESUMED,
    OF_FRAMEWORKS,
    LATE,
    SINGLE,
    TYPES,
)
BUGS = {bug.name: bug for bug in chain.from_iterable(GROUPS)}
"""All bugs by name."""
