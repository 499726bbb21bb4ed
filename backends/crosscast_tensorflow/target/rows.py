"""What TensorFlow with Keras can express, and how. See crosscast.targets.capability.Row."""

from __future__ import annotations

import crosscast_tensorflow.target.conditions as when
from crosscast.plan import predicates
from crosscast.recipe import predicates as recipes
from crosscast.targets.capability import Evidence, Row, Verdict
from crosscast.targets.neutral_rows import is_elastic, neutral_rows
from crosscast.targets.tracking_rows import TRACKING_ROWS, tensorboard_row
from crosscast_tensorflow.target.adaptations import TensorflowAdaptation as Adapt
from crosscast_tensorflow.target.precision_rows import PRECISION_ROWS

KERAS3 = frozenset({"keras3"})
KERAS2 = frozenset({"keras2", "graph-rewrite"})

_ADAPTED, _APPROXIMATE = Verdict.ADAPTED, Verdict.APPROXIMATE
_UNSUPPORTED = Verdict.UNSUPPORTED

_SCALING = (
    Row(
        path="loss_scaling",
        verdict=_ADAPTED,
        how="LossScaleOptimizer has fixed factors and no bounds: the script's LossScale sets "
        "the scale",
        code="CC320",
        probe="tensorflow/test_loss_scale.py::test_scale_grows_to_infinity",
        step=predicates.dynamic,
        dialects=KERAS3,
        adapt=Adapt.LOSS_SCALE,
    ),
    Row(
        path="loss_scaling",
        verdict=_ADAPTED,
        how="LossScaleOptimizer counts skipped steps: the script's LossScale sets the scale",
        code="CC370",
        probe="tensorflow/test_keras2.py::test_a_skipped_step_counts",
        step=predicates.dynamic,
        dialects=KERAS2,
        adapt=Adapt.LOSS_SCALE,
    ),
    Row(
        path="loss_scaling",
        verdict=_ADAPTED,
        how="Keras does not check under a static scale: the script scales, checks and skips",
        code="CC321",
        probe="tensorflow/test_loss_scale.py::test_static_scale_applies_infinite_gradients",
        step=predicates.static,
        adapt=Adapt.CONSTANT_SCALE,
    ),
    Row(path="loss_scaling", how="the loss is not scaled"),
)

_WINDOW = (
    Row(
        path="accumulation",
        verdict=_ADAPTED,
        how="gradient_accumulation_steps counts micro-batches, also for the schedule: the script "
        "sums the gradients",
        code="CC326",
        probe="tensorflow/test_accumulation.py::test_keras_drops_the_overflowed_micro_batch",
        when=recipes.accumulates,
        dialects=KERAS3,
        adapt=Adapt.OWN_SUMS,
    ),
    Row(path="accumulation", how="gradients summed in variables of the script"),
    Row(
        path="clipping.exempt",
        verdict=_APPROXIMATE,
        how="layer_norm means every normalization layer: their weights have the same names",
        code="CC329",
        probe="tensorflow/test_optimizer.py::test_normalization_layers_share_their_names",
        when=when.clips_by_name,
        adapt=Adapt.CLIPS_BY_NAME,
    ),
    Row(
        path="clipping",
        verdict=_ADAPTED,
        how="clipping by norm has no epsilon and no exempt weights, and overflows beyond "
        "float32: the script implements it",
        code="CC325",
        probe="tensorflow/test_clip.py::test_clip_by_global_norm_has_no_epsilon",
        step=when.norm_clip,
        adapt=Adapt.OWN_CLIP,
    ),
    Row(path="clipping", how="tf.clip_by_value, after unscaling", step=predicates.clips),
    Row(path="clipping", how="gradients are not clipped: only their norm is reported"),
    Row(
        path="ema",
        verdict=_ADAPTED,
        how="use_ema averages after every micro-batch: the script averages after every update",
        code="CC379",
        probe="tensorflow/test_optimizer.py::test_use_ema_averages_every_micro_batch",
        step=predicates.averages,
        adapt=Adapt.OWN_AVERAGE,
    ),
    Row(
        path="activation_checkpointing",
        verdict=_ADAPTED,
        how="tf.recompute_grad would draw new Dropout masks in the backward pass: the script "
        "derives them from a seed",
        code="CC373",
        probe="tensorflow/test_recompute.py::test_recompute_grad_draws_new_masks",
        when=when.recomputes_dropout,
        adapt=Adapt.RECOMPUTATION,
    ),
    Row(
        path="activation_checkpointing",
        how="tf.recompute_grad around every encoder layer",
        when=recipes.recomputes,
        adapt=Adapt.RECOMPUTATION,
    ),
)

_OPTIMIZER = (
    Row(
        path="optimizer.betas",
        verdict=_ADAPTED,
        how="Lion in Keras computes 1 - beta in float32, which is over 1e-4 off for betas this "
        "close to 1: the script's in float64",
        code="CC398",
        probe="tensorflow/test_optimizer.py::test_lion_takes_one_minus_beta_in_float32",
        step=when.lion_rounds_shares,
        adapt=Adapt.EXACT_BETAS,
        dialects=KERAS3,
    ),
    Row(
        path="optimizer.eps",
        verdict=_ADAPTED,
        how="Keras adds epsilon before the bias correction: the script's Adam adds it after",
        code="CC322",
        probe="tensorflow/test_optimizer.py::test_adam_adds_epsilon_before_the_bias_correction",
        step=when.adam_after,
        adapt=Adapt.EPSILON_AFTER,
    ),
    Row(
        path="optimizer.eps",
        verdict=_ADAPTED,
        how="Keras adds epsilon to every square: the script's Adafactor uses it as a floor",
        code="CC376",
        probe="tensorflow/test_optimizer.py::test_adafactor_adds_epsilon_to_every_square",
        step=predicates.adafactor,
        adapt=Adapt.EPSILON_FLOOR,
    ),
    Row(
        path="optimizer.eps_placement",
        verdict=_ADAPTED,
        how="Keras computes its bias corrections in float32: the script's Adam in float64",
        code="CC332",
        probe="tensorflow/test_optimizer.py::test_adam_rounds_its_corrections",
        step=predicates.raw_epsilon,
        adapt=Adapt.WIDE_CORRECTIONS,
    ),
    Row(
        path="optimizer.bias_correction",
        verdict=_ADAPTED,
        how="Keras always corrects the bias: the script defines an Adam that does not",
        code="CC375",
        probe="tensorflow/test_optimizer.py::test_adam_cannot_leave_its_correction_out",
        step=predicates.uncorrected_adam,
        adapt=Adapt.UNCORRECTED,
    ),
    Row(
        path="optimizer.bias_correction",
        how="the script's own Lamb leaves it out",
        step=when.uncorrected_lamb,
        adapt=Adapt.UNCORRECTED_LAMB,
    ),
    Row(
        path="optimizer.momentum",
        verdict=_ADAPTED,
        how="the momentum in Keras includes past learning rates: the script's does not",
        code="CC324",
        probe="tensorflow/test_optimizer.py::test_momentum_holds_past_learning_rates",
        step=when.momentum_outside,
        adapt=Adapt.MOMENTUM_OUTSIDE,
    ),
    Row(
        path="optimizer.weight_decay",
        verdict=_ADAPTED,
        how="weight_decay of Keras is decoupled: the script adds the decay to the gradients",
        code="CC323",
        probe="tensorflow/test_optimizer.py::test_weight_decay_of_adam_is_decoupled",
        step=predicates.coupled_decay,
        adapt=Adapt.COUPLED_DECAY,
    ),
    Row(
        path="optimizer.weight_decay",
        verdict=_ADAPTED,
        how="Lamb in Keras applies the decay outside the adapted step: the script's inside it",
        code="CC374",
        probe="tensorflow/test_optimizer.py::test_lamb_decays_beside_its_step",
        step=when.lamb,
        adapt=Adapt.ADAPTED_DECAY,
    ),
    Row(
        path="optimizer.no_decay",
        verdict=_APPROXIMATE,
        how="layer_norm means every normalization layer: their weights have the same names",
        code="CC329",
        probe="tensorflow/test_optimizer.py::test_normalization_layers_share_their_names",
        when=when.spares_by_name,
        adapt=Adapt.SPARES_BY_NAME,
    ),
    Row(path="optimizer.no_decay", how="by the variable's name: bias, gamma, beta, embeddings"),
    Row(
        path="optimizer.groups",
        verdict=_ADAPTED,
        how="Keras optimizers have no parameter groups: the script's optimizer has settings "
        "for every weight",
        code="CC378",
        probe="tensorflow/test_optimizer.py::test_optimizers_have_no_groups",
        step=predicates.grouped,
        adapt=Adapt.GROUPS,
    ),
    Row(
        path="optimizer",
        how="the class of that name in Keras",
        step=when.stock,
        adapt=Adapt.STOCK_OPTIMIZER,
        dialects=KERAS3,
    ),
    Row(
        path="optimizer",
        how="the class of that name in Keras",
        step=when.stock_of_keras2,
        adapt=Adapt.STOCK_OPTIMIZER,
        dialects=KERAS2,
    ),
    Row(path="optimizer", how="a small class in the script"),
)

ROWS = (
    *neutral_rows("tensorflow"),
    *TRACKING_ROWS,
    tensorboard_row("tf.summary"),
    Row(
        path="seed",
        verdict=_APPROXIMATE,
        how="dropout in your model draws different masks after resuming",
        code="CC372",
        probe="tensorflow/test_keras2.py::test_dropout_has_no_state_to_restore",
        when=recipes.own_model,
        dialects=KERAS2,
    ),
    Row(
        path="seed",
        how="Keras' seeds, and the script's seed for dropout in the shipped BERT; NumPy orders "
        "the rows",
    ),
    Row(path="model", how="keras.Model with explicit types, or the user's factory"),
    Row(
        path="model.attention",
        verdict=_ADAPTED,
        how="no fused attention in TensorFlow: two products and a softmax, whose result is kept",
        code="CC368",
        probe="tensorflow/test_stored_types.py::test_there_is_no_fused_attention",
        when=recipes.fused_attention,
        adapt=Adapt.EXPLICIT_ATTENTION,
    ),
    Row(path="model.attention", how="two matrix products and a softmax"),
    Row(path="data", how="read as NumPy arrays, the same row order on every framework"),
    Row(path="data.workers", how="threads of tf.data"),
    Row(path="batch", how="rows of a window cut into micro-batches"),
    *PRECISION_ROWS,
    *_SCALING,
    *_WINDOW,
    *_OPTIMIZER,
    Row(path="schedule", how="a formula in the script, assigned to optimizer.learning_rate"),
    Row(
        path="distributed.strategy",
        verdict=_APPROXIMATE,
        how="MultiWorkerMirroredStrategy; statistics of normalization layers are those of the "
        "first process",
        code="CC380",
        probe="tensorflow/test_distributed.py::test_statistics_are_those_of_each_replica",
        when=recipes.parallel_own_model,
        dialects=KERAS3,
    ),
    Row(
        path="distributed",
        verdict=_UNSUPPORTED,
        how="a single process cannot read the statistics of normalization layers to save them",
        code="CC380",
        probe="tensorflow/test_keras2.py::test_statistics_are_averaged_at_every_read",
        when=recipes.parallel_own_model,
        dialects=KERAS2,
    ),
    Row(
        path="distributed",
        verdict=_ADAPTED,
        how="MultiWorkerMirroredStrategy; Keras reduces gradients too late: the script averages "
        "them before it checks them",
        code="CC327",
        probe="tensorflow/test_distributed.py::"
        "test_an_overflow_of_another_replica_destroys_the_weights",
        step=predicates.parallel,
        adapt=Adapt.OWN_REDUCTION,
    ),
    Row(path="distributed", how="one process"),
    Row(
        path="distributed.nodes",
        verdict=_ADAPTED,
        how="launch.sh writes TF_CONFIG with the addresses of all nodes, a port for every process",
        code="CC381",
        probe="tensorflow/test_distributed.py::test_a_process_listens_on_all_addresses",
        when=recipes.several_nodes,
        adapt=Adapt.WORKERS_OF_NODES,
    ),
    Row(
        path="launch.rendezvous",
        verdict=_UNSUPPORTED,
        how="TensorFlow has no launcher that restarts processes: write rendezvous: static",
        code="CC328",
        evidence=Evidence.DOCUMENTED,
        probe="none: there is nothing to call",
        when=is_elastic,
    ),
)
