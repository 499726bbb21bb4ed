"""What a naive translation of a training script gets wrong, and the tests that prove we do not.

A test is named by its path below tests/ and its function. Those in tests/gotchas take the
adaptation out of the emitted code, or the refusal out of the tables, and see the result change;
those in tests/probes show that the danger is real in the framework as it is installed.
"""

from __future__ import annotations

from dataclasses import dataclass

_STEP = "gotchas/test_steps.py::test_without_the_adaptation_it_is_not"
_MODEL = "gotchas/test_models.py::test_without_the_constant_it_is_not"
_TYPES = "gotchas/test_models.py::test_without_the_casts_types_are_others"
_PROCESSES = "gotchas/test_processes.py::test_without_the_adaptation_they_do_not"
_REFUSALS = "gotchas/test_refusals.py::"
_RECOMPUTED = "gotchas/test_recomputation.py::"
_KERAS = "gotchas/test_keras_processes.py::"
_SCALE = "gotchas/test_loss_scale.py::"


@dataclass(frozen=True)
class Gotcha:
    """One mistake. `tests` fail when the adaptation is removed, `probes` when the danger is."""

    number: int
    title: str
    tests: tuple[str, ...]
    probes: tuple[str, ...] = ()


GOTCHAS = (
    Gotcha(
        1,
        "Keras' LossScaleOptimizer under tf.distribute corrupts weights or dead-locks",
        (f"{_KERAS}test_without_the_mean_before_the_check_the_weights_part",),
        (
            "probes/tensorflow/test_distributed.py::"
            "test_an_overflow_of_another_replica_destroys_the_weights",
        ),
    ),
    Gotcha(
        2,
        "tf.recompute_grad and Keras remat draw other dropout masks in the backward pass",
        (f"{_RECOMPUTED}test_with_other_masks_they_are_not",),
        ("probes/tensorflow/test_recompute.py::test_recompute_grad_draws_new_masks",),
    ),
    Gotcha(
        3,
        "Paddle's scaler switches itself off, and crashes with NumPy 2.4",
        (_STEP,),
        (
            "probes/paddle/test_scaler.py::test_scaler_switches_itself_off",
            "probes/paddle/test_hazards.py::test_a_back_off_converts_as_numpy_2_4_forbids",
        ),
    ),
    Gotcha(
        4,
        "one Paddle scaler for two optimizers: nan weights, or no back-off",
        (
            f"{_REFUSALS}test_two_optimizers_cannot_be_said",
            f"{_REFUSALS}test_a_paddle_script_has_one_optimizer_and_one_scaler",
        ),
        ("probes/paddle/test_hazards.py::test_two_optimizers_share_one_flag",),
    ),
    Gotcha(
        5,
        "gradient_accumulation_steps of Keras: schedule, check and scale count micro-batches",
        (_STEP,),
        ("probes/tensorflow/test_accumulation.py::test_keras_drops_the_overflowed_micro_batch",),
    ),
    Gotcha(
        6,
        "sum or mean over replicas",
        (_PROCESSES, f"{_KERAS}test_a_sum_for_a_mean_is_another_training"),
        ("probes/tensorflow/test_distributed.py::test_gradients_are_summed_over_replicas",),
    ),
    Gotcha(
        7,
        "weight_decay is coupled in PyTorch and Paddle, decoupled in Keras",
        (_STEP,),
        ("probes/tensorflow/test_optimizer.py::test_weight_decay_of_adam_is_decoupled",),
    ),
    Gotcha(
        8,
        "the momentum of Keras holds past learning rates",
        (_STEP,),
        ("probes/tensorflow/test_optimizer.py::test_momentum_holds_past_learning_rates",),
    ),
    Gotcha(
        9,
        "the loss scale runs away to inf or to 0",
        (
            _STEP,
            f"{_SCALE}test_the_scale_never_becomes_inf",
            f"{_SCALE}test_the_scale_never_becomes_zero",
        ),
        (
            "probes/torch/test_scaler.py::test_scale_falls_below_any_floor",
            "probes/tensorflow/test_loss_scale.py::test_scale_grows_to_infinity",
            "probes/paddle/test_scaler.py::test_scale_grows_to_infinity",
        ),
    ),
    Gotcha(
        10,
        "--use_fp16=true is no dynamic scaling: LARK's scale is 1, two of six flags count",
        (
            f"{_REFUSALS}test_lark_has_no_dynamic_scale",
            "probes/paddle/test_launch_scripts.py::test_lark_has_a_constant_scale",
            "probes/paddle/test_launch_scripts.py::test_without_scaling_the_scale_is_one_and_stays",
            "probes/paddle/test_launch_scripts.py::"
            "test_flags_of_the_models_repository_are_what_is_built_in",
        ),
    ),
    Gotcha(
        11,
        "LayerNorm's epsilon is 1e-3 in Keras, and keras.ops.gelu is the tanh form",
        (_MODEL,),
        ("probes/tensorflow/test_defaults.py::test_defaults_are_as_the_table_says",),
    ),
    Gotcha(12, "BERT decays over all steps, others from the end of the warm-up", (_STEP,)),
    Gotcha(
        13,
        "Adam of Keras adds epsilon before the bias correction",
        (_STEP,),
        ("probes/tensorflow/test_optimizer.py::test_adam_adds_epsilon_before_the_bias_correction",),
    ),
    Gotcha(
        14,
        "gradients are clipped before they are unscaled",
        (_STEP,),
        ("probes/torch/test_clip.py::test_value_clip_hides_inf_and_keeps_nan",),
    ),
    Gotcha(15, "a short last window counts as a full one", (_STEP,)),
    Gotcha(
        16,
        "a skip that is none: moments, counters or schedules move",
        (_STEP,),
    ),
    Gotcha(17, "the mean over tokens is one of the window, not of each micro-batch", (_STEP,)),
    Gotcha(
        18,
        "Paddle asks for decay by generated names; padding_idx zeroes a row of the output",
        (_STEP, _MODEL),
        ("probes/paddle/test_optimizer.py::test_weight_decay_asks_by_generated_names",),
    ),
    Gotcha(
        19,
        "autocast on a CPU computes in other types than on a GPU",
        (_TYPES, "frameworks/test_models.py::test_types_of_operations"),
    ),
    Gotcha(
        20,
        "a static scale without a finite check",
        (_STEP,),
        (
            "probes/tensorflow/test_loss_scale.py::test_static_scale_applies_infinite_gradients",
            "probes/paddle/test_scaler.py::test_static_scaler_tells_of_no_skip",
        ),
    ),
    Gotcha(21, "LAMB without decay is Adam in Paddle; Keras decays beside the ratio", (_STEP,)),
    Gotcha(22, "cosine schedules climb again after their end", (_STEP,)),
    Gotcha(23, "the schedule ticks once for every process", (_PROCESSES,)),
    Gotcha(
        24,
        "2**16 times a loss in float16 is inf",
        ("gotchas/test_loss_type.py::test_the_scaled_loss_is_finite",),
    ),
    Gotcha(
        25,
        "growth one step late, and hysteresis that does not mean overflows in a row",
        (
            _STEP,
            f"{_SCALE}test_the_scale_grows_on_clean_step_n",
            f"{_SCALE}test_only_overflows_in_a_row_back_off",
        ),
        (
            "probes/torch/test_scaler.py::test_scale_grows_at_the_end_of_every_interval",
            "probes/paddle/test_scaler.py::test_scale_grows_at_the_end_of_every_interval",
            "probes/paddle/test_launch_scripts.py::test_ernie_counts_one_more",
        ),
    ),
)
