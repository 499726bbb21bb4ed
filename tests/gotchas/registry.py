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
_TWO_OF_JAX = "gotchas/test_jax_processes.py::test_without_the_adaptation_they_are_another_training"
_OPTAX = "probes/jax/test_optax.py::"
_TRAPS = "probes/jax/test_traps.py::"


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
        (_PROCESSES, f"{_KERAS}test_a_sum_for_a_mean_is_another_training", _TWO_OF_JAX),
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
        "the momentum of Keras holds past learning rates, that of optax does not",
        (_STEP,),
        (
            "probes/tensorflow/test_optimizer.py::test_momentum_holds_past_learning_rates",
            f"{_OPTAX}test_the_rate_is_outside_the_momentum",
        ),
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
        "LayerNorm's epsilon is 1e-3 in Keras; gelu of Keras and JAX is the tanh form",
        (_MODEL,),
        (
            "probes/tensorflow/test_defaults.py::test_defaults_are_as_the_table_says",
            "probes/jax/test_types.py::test_defaults_differ_from_those_of_pytorch",
        ),
    ),
    Gotcha(
        12,
        "BERT decays over all steps, others from the end of the warm-up",
        (_STEP,),
        (f"{_TRAPS}test_the_length_of_a_schedule_counts_its_warm_up",),
    ),
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
    Gotcha(23, "the schedule ticks once for every process", (_PROCESSES, _TWO_OF_JAX)),
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
    Gotcha(
        26,
        "optax.MultiSteps multiplies by 0 what it leaves out, and apply_if_finite gives up",
        (_STEP,),
        (
            f"{_OPTAX}test_multi_steps_never_recovers",
            f"{_OPTAX}test_what_is_not_finite_is_accepted_in_the_end",
        ),
    ),
    Gotcha(
        27,
        "a chain of optax clips what it gets: updates of Adam, or every micro-batch",
        (_STEP,),
        (
            f"{_TRAPS}test_a_clip_behind_adam_changes_nothing",
            f"{_TRAPS}test_a_clip_outside_of_multi_steps_sees_micro_batches",
        ),
    ),
    Gotcha(
        28,
        "optax.clip_by_global_norm adds nothing to the norm",
        (_STEP,),
        (f"{_OPTAX}test_clip_adds_nothing_to_the_norm",),
    ),
    Gotcha(
        29,
        "Adam of optax always corrects the bias, and rounds the correction",
        (_STEP,),
        (f"{_OPTAX}test_corrections_are_rounded", f"{_OPTAX}test_adam_always_corrects"),
    ),
    Gotcha(
        30,
        "optax.adafactor is another algorithm",
        (_STEP,),
        (f"{_OPTAX}test_adafactor_factors_large_matrices_only",),
    ),
    Gotcha(
        31,
        "updates of optax are added: a positive factor climbs, a decay behind it lets weights grow",
        (_STEP,),
        (
            f"{_TRAPS}test_a_positive_factor_goes_along_the_gradient",
            f"{_TRAPS}test_a_decay_behind_the_rate_makes_weights_grow",
        ),
    ),
    Gotcha(
        32,
        "a mask of optax is true for what decays",
        (_STEP,),
        (f"{_TRAPS}test_masks_are_true_for_what_decays",),
    ),
    Gotcha(
        33,
        "functions of JAX return what is new: moments that are dropped start again",
        (_STEP,),
        (
            f"{_TRAPS}test_without_its_state_adam_takes_its_first_step_again",
            f"{_TRAPS}test_new_weights_are_returned_and_the_old_ones_stay",
        ),
    ),
    Gotcha(
        34,
        "optax and Flax NNX scale no losses",
        (_STEP,),
        (f"{_OPTAX}test_nothing_scales_losses", f"{_TRAPS}test_a_loss_scale_hands_an_overflow_on"),
    ),
    Gotcha(
        35,
        "a key of JAX that is not folded draws the same dropout mask again",
        ("gotchas/test_keys.py::test_without_its_key_one_mask_is_drawn_again",),
        ("probes/jax/test_types.py::test_layers_draw_masks_of_their_own_after_reseed",),
    ),
    Gotcha(
        36,
        "JAX has no autocast: a layer without a type computes in that of its weights",
        ("gotchas/test_layer_types.py::test_without_the_adaptation_it_is_float32",),
        ("probes/jax/test_types.py::test_layers_follow_their_weights",),
    ),
    Gotcha(
        37,
        "Flax keeps the scores of attention, and layers all that they compute",
        (
            f"{_RECOMPUTED}test_only_inputs_of_layers_are_kept",
            f"{_RECOMPUTED}test_attention_computed_again_keeps_less",
        ),
        ("probes/jax/test_attention.py::test_attention_computed_again_keeps_no_scores",),
    ),
)
