"""What Keras 3 does otherwise than Keras 2: what the places are told by, and what is said of them.

Nothing of it is rewritten. A test tries the rows where Keras 3 is installed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_tensorflow.migration.experimental.keras_names import place_tests as tests

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call

_POLICY = 'keras.mixed_precision.set_global_policy("mixed_float16") before the model is built'


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPlace:
    """A call of Keras 2 that a person must look at."""

    names: str
    """Pattern of the canonical name; empty for a method of any object."""
    method: str = ""
    message: str
    hint: str
    when: Callable[[Call], bool] = tests.always
    once: bool = False
    """Whether one place in a module says it for all."""


CALLS = (
    CallPlace(
        names=r"tensorflow\..*enable_mixed_precision_graph_rewrite",
        message="the graph rewrite does nothing for models of Keras 3",
        hint=f"write {_POLICY}; compile scales the loss, and your own loop needs a "
        "LossScaleOptimizer",
    ),
    CallPlace(
        names=r"tensorflow\.config\.optimizer\.set_experimental_options",
        message="the option auto_mixed_precision does nothing for models of Keras 3",
        hint=f"write {_POLICY}",
        when=lambda call: "auto_mixed_precision" in call.module.source.text,
    ),
    CallPlace(
        names=r"(horovod|byteps)\..*DistributedOptimizer",
        message="DistributedOptimizer has no effect on optimizers of Keras 3, which call none of "
        "its methods",
        hint="average the gradients by DistributedGradientTape in your own loop, or in apply "
        "of a subclass of the optimizer",
    ),
    CallPlace(
        names=r"keras\.mixed_precision\.LossScaleOptimizer",
        message="the LossScaleOptimizer of Keras 3 wraps only optimizers of Keras",
        hint="use an inner optimizer from keras.optimizers",
        when=tests.wraps_foreign,
    ),
    CallPlace(
        names=r"keras\.mixed_precision\.(experimental\.)?set_(global_)?policy",
        message="set_policy(None) selected the default policy; set_global_policy rejects None",
        hint='write set_global_policy("float32")',
        when=tests.is_none("policy", 0),
    ),
    CallPlace(
        names=r"tensorflow\.distribute\..*Strategy",
        message="the LossScaleOptimizer of Keras 3 looks for overflow in one of the replicas only: "
        "one overflow puts inf into the weights",
        hint="use mixed_bfloat16, which needs no scaling, or one device per process",
        when=tests.scales_replicas,
    ),
    CallPlace(
        names=r"keras\.(backend|utils)\.clear_session",
        message="clear_session of Keras 3 resets the dtype policy, too",
        hint="set the policy again after it",
        when=tests.sets_policy,
    ),
    CallPlace(
        names=r"tensorflow\.(compat\.v1\.)?disable_(eager_execution|v2_behavior)",
        message="fit of Keras 3 fails without eager execution",
        hint="remove this line; fit compiles its steps by itself",
        when=tests.compiles_models,
    ),
    CallPlace(
        names=r"keras\.optimizers\.RMSprop",
        message="RMSprop of Keras 3 adds epsilon before the root, and Keras 2 did after it up to "
        "2.10: steps differ where gradients are below 0.01",
        hint="nothing, if the program was made for TensorFlow 2.11 or later",
        once=True,
    ),
    CallPlace(
        names=r"keras\.optimizers\.Nadam",
        message="Nadam has another momentum schedule in Keras 3 (0.8 % of the weights after 6 "
        "updates)",
        hint="take Adam, or write the optimizer of Keras 2 by hand",
    ),
    CallPlace(
        names=r"keras\.layers\.Embedding",
        message="optimizers of Keras 3 train an Embedding otherwise: repeated rows are not added "
        "up before they are squared, and momentum moves rows that a batch lacks",
        hint="nothing, if the weights need not be those of Keras 2",
        once=True,
    ),
    CallPlace(
        names=r"keras\.layers\.ConvLSTM[123]D",
        message="the default of recurrent_activation is sigmoid in Keras 3 (Keras 2 up to 2.5: "
        "hard_sigmoid)",
        hint="write recurrent_activation=...",
        when=tests.without("recurrent_activation", 7),
    ),
    CallPlace(
        names=r"keras\.regularizers\.l1_l2",
        message="l1_l2 of Keras 2 had the defaults 0.01 for both, Keras 3 has 0",
        hint="write l1= and l2=",
        when=tests.without_one_of(("l1", 0), ("l2", 1)),
    ),
    CallPlace(
        names=r"keras\.layers\.(AveragePooling|AvgPool)[123]D",
        message="pool_size has no default in Keras 3 (Keras 2: 2)",
        hint="write pool_size=2",
        when=tests.without("pool_size", 0),
    ),
    CallPlace(
        names=r"keras\.layers\.Dense",
        message="Dense of Keras 3 takes only whole numbers of Python, and np.prod returns none",
        hint="write int(np.prod(...))",
        when=tests.counts_by_numpy,
    ),
    CallPlace(
        names=r"keras\.layers\.BatchNormalization",
        message="axis of BatchNormalization is one number in Keras 3",
        hint="write axis=-1 for the last dimension",
        when=tests.has_list("axis", 0),
    ),
    CallPlace(
        names=r"keras\.activations\.hard_sigmoid",
        message="hard_sigmoid of Keras 3 is relu6(x + 3) / 6, that of Keras 2 "
        "clip(0.2 * x + 0.5, 0, 1)",
        hint="write the formula of Keras 2 if the weights are from there",
    ),
    CallPlace(
        names=r"keras\.utils\.to_categorical",
        message="to_categorical returns float64 in Keras 3 (Keras 2: float32); fit casts it, "
        "your own loop does not",
        hint='write .astype("float32") after it',
        when=tests.trains_by_hand,
    ),
    CallPlace(
        names=r"keras\.backend\.gradients",
        message="gradients of a graph: TensorFlow 2 computes none without a session",
        hint="compute them with a tf.GradientTape",
    ),
    CallPlace(
        names=r"keras\.metrics\.MeanIoU",
        message="MeanIoU counts in int64 in Keras 3: sample weights that are no whole numbers are "
        "cut off",
        hint="nothing, if there are no sample weights",
    ),
    CallPlace(
        names=r"keras\.metrics\.binary_accuracy",
        message="the function binary_accuracy no longer averages over the last axis in Keras 3",
        hint="average its result",
    ),
    CallPlace(
        names=r"keras\.metrics\.KLDivergence",
        message="the metric is kl_divergence in logs (Keras 2: kullback_leibler_divergence)",
        hint="read it under the new name",
    ),
    CallPlace(
        names=r"keras\.callbacks\.LearningRateScheduler",
        message="a schedule of LearningRateScheduler must return a number of Python in Keras 3, "
        "and this one is perhaps a tensor",
        hint="write lambda epoch: float(schedule(epoch))",
        when=tests.has_tensor_schedule,
    ),
    CallPlace(
        names=r"keras\.callbacks\.(EarlyStopping|ReduceLROnPlateau|ModelCheckpoint)",
        message="Keras 3 stops where it does not know whether more or less of what is monitored is "
        "better, which it asks the metrics of compile",
        hint='write mode="max" or mode="min" (auto of Keras 2: max for names with acc)',
        when=tests.monitors_unknown,
    ),
    CallPlace(
        names=r"keras\.models\.model_from_json",
        message="Keras 3 reads few of the configurations that Keras 2 wrote",
        hint="build the model by its code, and load the weights",
    ),
    CallPlace(
        names=r"tensorflow\.train\.Checkpoint",
        message="restore finds nothing of a model of Keras in a checkpoint that Keras 2 wrote, and "
        "says nothing",
        hint="call assert_existing_objects_matched(), and convert old checkpoints with tf_keras",
        when=tests.restores,
    ),
    CallPlace(
        names="",
        method="compile",
        message="the metrics of a list belong to one output each in Keras 3 (Keras 2: all of them "
        "to every output)",
        hint="write a list of metrics for each output",
        when=tests.shares_metrics,
    ),
    CallPlace(
        names="",
        method="compile",
        message="an optimizer of Keras 3 belongs to the variables of its first training: with "
        "other layers set trainable, or another model, it raises an error",
        hint="make a new optimizer for every compile",
        when=tests.compiled_again,
    ),
    CallPlace(
        names="",
        method="apply_gradients",
        message="an optimizer of Keras 3 belongs to the variables of its first call, and this one "
        "is applied at several places",
        hint="make an optimizer for every list of variables, or call optimizer.build(all of them)",
        when=tests.applied_again,
    ),
    CallPlace(
        names="",
        method="add_loss",
        message="Keras 3 takes add_loss only in the call of a layer",
        hint="add the loss in call of a layer, or write a train_step",
        when=tests.outside_of_layers,
    ),
    CallPlace(
        names="",
        method="add_metric",
        message="layers and models of Keras 3 have no add_metric",
        hint="pass metrics to compile, or keep a Metric and call its update_state",
    ),
    CallPlace(
        names="",
        method="add_weight",
        message="add_weight of Keras 3 takes the shape first, and neither use_resource nor "
        "synchronization; for metrics, aggregation is an argument of add_variable",
        hint="write add_weight(name=..., shape=..., initializer=...)",
        when=tests.adds_old_weights,
    ),
    CallPlace(
        names="",
        method="get_initial_state",
        message="get_initial_state of a cell takes only batch_size in Keras 3",
        hint="pass the batch size alone, and cast the states that it returns as a list",
        when=lambda call: (
            call.receiver_text != "self" and len(call.node.args) + len(call.node.keywords) > 1
        ),
    ),
    CallPlace(
        names="",
        method="exclude_from_weight_decay",
        message="the patterns are looked for in the name of a variable, which is without its layer "
        "in Keras 3 (bias, not dense/bias:0)",
        hint="write exclude_from_weight_decay(var_list=[...]) with the variables",
        when=lambda call: all(k.arg != "var_list" for k in call.node.keywords),
    ),
    CallPlace(
        names="",
        method="experimental_run_v2",
        message="strategies have no experimental_run_v2 any more",
        hint="write run",
    ),
)
"""Calls, by the name of the function or by a method."""

_NODES = "read input and output of a model that calls the layer once"
_UPDATES = "assign to the weights in call: Keras 3 has no list of updates"
_TAPE = "compute the gradients with a tf.GradientTape, and call apply_gradients"
GONE_HINTS: Mapping[str, str] = {
    **{
        f"get_{what}_at": _NODES
        for what in ("input", "input_mask", "input_shape", "output", "output_mask", "output_shape")
    },
    **dict.fromkeys(("inbound_nodes", "outbound_nodes"), _NODES),
    **dict.fromkeys(("updates", "add_update", "state_updates", "get_updates_for"), _UPDATES),
    **dict.fromkeys(("minimize", "get_gradients", "compute_gradients", "get_updates"), _TAPE),
    "output_shape": "write layer.output.shape",
    "input_shape": "write layer.input.shape",
    "predict_classes": "write predict(x).argmax(-1), or (predict(x) > 0.5).astype('int32')",
    "predict_proba": "write predict(x)",
    "weights": "read optimizer.variables",
    "get_weights": "write [v.numpy() for v in optimizer.variables]",
    "get_slot": "read optimizer.variables",
    "_decayed_lr": "read optimizer.learning_rate",
    "reset_states": "reset the states of its layers",
    "metrics_names": "write evaluate(..., return_dict=True)",
    "compiled_loss": "write model.loss, or model.compiled where it is compared with None",
}
"""Member that is gone to what to write instead."""
ALSO_GONE: Mapping[str, frozenset[str]] = {
    "model": frozenset(
        ("predict_classes", "predict_proba", "total_loss", "targets", "metrics_names",
         "metrics_tensors", "sample_weights", "get_updates_for", "compiled_loss",
         "uses_learning_phase")
    ),
    "layer": frozenset(("get_updates_for", "get_losses_for")),
    "optimizer": frozenset(("decay", "_decayed_lr", "_set_hyper", "_get_hyper")),
}  # fmt: skip
"""Members that went before tf_keras, or that mean something else in Keras 3."""
PRIVATE: Mapping[str, str] = {
    "_keras_shape": "read shape",
    "_policy": "read dtype_policy",
    "_make_train_function": "call make_train_function()",
    "_make_predict_function": "call make_predict_function()",
    "_make_test_function": "call make_test_function()",
    "_collected_trainable_weights": "read trainable_weights",
    "_name": "write name=... where it is made, or layer.name",
    "_is_graph_network": "Keras 3 has other private parts",
}
"""Private member of models and layers to what to write instead."""
HYPERPARAMETERS = frozenset((
    "beta_1", "beta_2", "rho", "momentum", "epsilon", "nesterov", "amsgrad", "centered",
    "clipnorm", "clipvalue", "global_clipnorm", "weight_decay",
))  # fmt: skip
"""What Keras 2 read in every step."""
TEXTS: Mapping[str, tuple[str, str]] = {
    "hard_sigmoid": (
        "if hard_sigmoid is an activation here, Keras 3 gives it another slope: relu6(x + 3) / 6 "
        "instead of clip(0.2 * x + 0.5, 0, 1)",
        "write the formula of Keras 2 if the weights are from there",
    ),
    "huber_loss": ("Keras 3 does not know the loss huber_loss by this name", 'write "huber"'),
    "logcosh": ("Keras 3 does not know the loss logcosh by this name", 'write "log_cosh"'),
    "rmsprop": (
        "if this is an optimizer: RMSprop of Keras 3 adds epsilon before the root, and Keras 2 did "
        "after it up to 2.10",
        "nothing, if the program was made for TensorFlow 2.11 or later",
    ),
    **dict.fromkeys(
        ("infer", "infer_float32_vars", "infer_with_float32_vars", "mixed_float16_vars"),
        (
            "if this is a dtype policy: Keras 3 does not infer dtypes from inputs",
            "choose mixed_float16, mixed_bfloat16 or float32",
        ),
    ),
    "nadam": (
        "if this is an optimizer: Nadam has another momentum schedule in Keras 3",
        "take Adam, or write the optimizer of Keras 2 by hand",
    ),
}
"""Text that is given as an argument to what Keras 3 does with it."""
ENVIRONMENT = re.compile(r"TF_ENABLE_AUTO_MIXED_PRECISION\w*")
OLD_METHODS = (
    "_resource_apply_dense",
    "_resource_apply_sparse",
    "_create_slots",
    "_prepare_local",
    "get_updates",
)
"""What makes a class an optimizer for Keras 2; Keras 3 calls none of these methods."""
