"""What TensorFlow with Keras 3 can express, and how. See crosscast.capability.Row."""

from __future__ import annotations

from crosscast.capability import Row, Verdict
from crosscast.codes import Code
from crosscast.neutral_rows import NEUTRAL_ROWS
from crosscast.recipe import (
    CustomModel,
    DynamicLossScaling,
    GlobalNormClipping,
    Recipe,
    Sgd,
)

CODES = (
    Code(
        "CC320",
        "loss scale without settings",
        "keras.optimizers.LossScaleOptimizer doubles and halves, without bounds or hysteresis, "
        "and counts micro-batches; the script has a scale of its own.",
    ),
    Code(
        "CC321",
        "no finite check of a static loss scale",
        "Keras applies infinite gradients under loss_scale_factor; the script skips the step.",
    ),
    Code(
        "CC322",
        "epsilon before the bias correction",
        "Adam and AdamW of Keras add epsilon to the raw second moment, which matters for small "
        "gradients and first steps; the script has the optimizer in PyTorch's form.",
    ),
    Code(
        "CC323",
        "weight decay is always decoupled",
        "weight_decay of every Keras optimizer shrinks the weights; the script adds the decay of "
        "SGD and Adam to the gradients.",
    ),
    Code(
        "CC324",
        "learning rate inside the momentum",
        "keras.optimizers.SGD multiplies gradients by the rate before it sums them; with a rate "
        "that changes this is another optimizer. The script has the usual form.",
    ),
    Code(
        "CC325",
        "clip formula differs",
        "Clipping by global norm in Keras and TensorFlow knows no epsilon and makes nan of "
        "everything when the norm overflows; the script clips by itself.",
    ),
    Code(
        "CC326",
        "accumulation loses micro-batches",
        "With gradient_accumulation_steps Keras checks, scales and counts per micro-batch; the "
        "script sums the gradients of a window by itself.",
    ),
    Code(
        "CC327",
        "no data parallelism yet",
        "Scripts for TensorFlow run in one process. Set distributed.strategy to none and raise "
        "accumulation.steps: the result is the same.",
    ),
    Code(
        "CC328",
        "custom model without a factory",
        "Name a function under model.factory.tensorflow that returns the Keras model.",
    ),
    Code(
        "CC329",
        "layer norms are told by name",
        "Keras gives the weights of every normalization layer the names gamma and beta, so "
        "no_decay: [layer_norm] also spares batch and group normalization.",
    ),
)


def _dynamic(recipe: Recipe) -> bool:
    return isinstance(recipe.loss_scaling, DynamicLossScaling)


def _static(recipe: Recipe) -> bool:
    return recipe.loss_scaling.mode == "static"


def _adam(recipe: Recipe) -> bool:
    return recipe.optimizer.name in ("adam", "adamw")


def _coupled(recipe: Recipe) -> bool:
    return recipe.optimizer.name != "adamw" and recipe.optimizer.weight_decay > 0


def _momentum(recipe: Recipe) -> bool:
    return isinstance(recipe.optimizer, Sgd) and recipe.optimizer.momentum > 0


def _norm_clip(recipe: Recipe) -> bool:
    return isinstance(recipe.clipping, GlobalNormClipping)


def _accumulates(recipe: Recipe) -> bool:
    return recipe.accumulation.steps > 1


def _parallel(recipe: Recipe) -> bool:
    return recipe.processes > 1


def _no_factory(recipe: Recipe) -> bool:
    return isinstance(recipe.model, CustomModel) and "tensorflow" not in recipe.model.factory


def spares_by_name(recipe: Recipe) -> bool:
    """Whether weights of unknown layers are to be spared from decay as layer norms."""
    optimizer = recipe.optimizer
    spared = optimizer.weight_decay > 0 and "layer_norm" in optimizer.no_decay
    return spared and isinstance(recipe.model, CustomModel)


ROWS = (
    *NEUTRAL_ROWS,
    Row(path="seed", how="keras.utils.set_random_seed; NumPy orders the rows"),
    Row(
        path="model",
        verdict=Verdict.UNSUPPORTED,
        how="model.factory names no function for tensorflow",
        code="CC328",
        probe="none: a fact about the recipe",
        when=_no_factory,
    ),
    Row(path="model", how="keras.Model with explicit types, or the user's factory"),
    Row(path="data", how="npz read with NumPy, the same row order on every framework"),
    Row(path="batch", how="rows of a window cut into micro-batches"),
    Row(path="precision", how="a mixed dtype policy for the dense layers; float32 variables"),
    Row(path="precision.tf32", how="enable_tensor_float_32_execution"),
    Row(
        path="loss_scaling",
        verdict=Verdict.ADAPTED,
        how="LossScaleOptimizer has fixed factors and no bounds: the script's LossScale decides",
        code="CC320",
        probe="tensorflow/test_loss_scale.py::test_scale_grows_to_infinity",
        when=_dynamic,
    ),
    Row(
        path="loss_scaling",
        verdict=Verdict.ADAPTED,
        how="loss_scale_factor checks nothing: the script scales, checks and skips",
        code="CC321",
        probe="tensorflow/test_loss_scale.py::test_static_scale_applies_infinite_gradients",
        when=_static,
    ),
    Row(path="loss_scaling", how="gradients as they are"),
    Row(
        path="accumulation",
        verdict=Verdict.ADAPTED,
        how="gradient_accumulation_steps counts micro-batches: the script sums by itself",
        code="CC326",
        probe="tensorflow/test_accumulation.py::test_keras_drops_the_overflowed_micro_batch",
        when=_accumulates,
    ),
    Row(path="accumulation", how="one micro-batch a step"),
    Row(
        path="clipping",
        verdict=Verdict.ADAPTED,
        how="clip_by_global_norm has no epsilon and no norm beyond float32: the script clips",
        code="CC325",
        probe="tensorflow/test_clip.py::test_clip_by_global_norm_has_no_epsilon",
        when=_norm_clip,
    ),
    Row(path="clipping", how="tf.clip_by_value, or only the norm, after unscaling"),
    Row(
        path="optimizer.eps",
        verdict=Verdict.ADAPTED,
        how="Keras adds epsilon before the bias correction: the script's Adam adds it after",
        code="CC322",
        probe="tensorflow/test_optimizer.py::test_adam_adds_epsilon_before_the_bias_correction",
        when=_adam,
    ),
    Row(
        path="optimizer.momentum",
        verdict=Verdict.ADAPTED,
        how="the momentum of Keras holds past learning rates: the script's does not",
        code="CC324",
        probe="tensorflow/test_optimizer.py::test_momentum_holds_past_learning_rates",
        when=_momentum,
    ),
    Row(
        path="optimizer.weight_decay",
        verdict=Verdict.ADAPTED,
        how="weight_decay of Keras is decoupled: the script adds the decay to the gradients",
        code="CC323",
        probe="tensorflow/test_optimizer.py::test_weight_decay_of_adam_is_decoupled",
        when=_coupled,
    ),
    Row(
        path="optimizer.no_decay",
        verdict=Verdict.APPROXIMATE,
        how="layer_norm means every normalization layer: their weights have the same names",
        code="CC329",
        probe="tensorflow/test_optimizer.py::test_normalization_layers_share_their_names",
        when=spares_by_name,
    ),
    Row(path="optimizer.no_decay", how="by the variable's name: bias, gamma, beta, embeddings"),
    Row(path="optimizer", how="keras.optimizers.SGD on directions that the script computes"),
    Row(path="schedule", how="a formula in the script, assigned to optimizer.learning_rate"),
    Row(
        path="distributed",
        verdict=Verdict.UNSUPPORTED,
        how="one process only",
        code="CC327",
        probe="none: a limit of the script, not of TensorFlow",
        when=_parallel,
    ),
    Row(path="distributed", how="one process"),
)
