"""The vocabulary of facts: the fields that readers may report, with their possible words.

It is wider than the recipe: a script can divide its loss twice or clip before it unscales, which no
recipe can. `recipe` names the field of the recipe that an entry fills.
"""

from __future__ import annotations

from dataclasses import dataclass

from crosscast_reading.facts.fact import Plain, PlainValue

NUMBER = ("<number>",)
TEXT = ("<text>",)
HALVES = ("float16", "bfloat16")
"""Types below float32 in which a recipe can compute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One entry. `values`: the words allowed, or NUMBER or TEXT. `many`: several may hold."""

    values: tuple[str, ...]
    meaning: str
    recipe: str = ""
    many: bool = False
    of_subject: bool = False
    """Whether every subject (optimizer, scaler) has its own."""


_WHO = ("library", "caller", "inherit")
"""A library does it, the caller of this code does it, another configuration file says it."""

VOCABULARY: dict[str, Field] = {
    "framework": Field(values=("pytorch", "tensorflow", "paddle", "jax"), meaning="what trains"),
    "api": Field(
        values=(
            *("apex_amp", "torch.cuda.amp", "torch.amp", "custom_fp16", "accelerate", "hf_trainer"),
            *("lightning", "lightning_fabric", "deepspeed", "megatron", "nemo", "gpt_neox"),
            *("axolotl", "llama_factory", "torchtune", "composer", "mmengine", "mmcv1"),
            *("config_overrides", "horovod", "keras_mp", "keras_mp_experimental"),
            *("tf_graph_rewrite", "tf_rewriter_config", "tf_env_amp", "tf_config_automp"),
            *("tf_contrib_mp", "tf_custom", "tf_model_garden", "openseq2seq"),
            *("paddle_static_custom", "paddle_static_decorate", "paddle_dygraph_amp"),
            *("paddle_fleet", "paddle_cli_flags", "paddle_yaml"),
            *("jax_dynamic_scale", "jax_multisteps"),
        ),
        meaning="interfaces through which precision, scaling and accumulation are asked for",
        many=True,
    ),
    "precision.enabled": Field(
        values=("never", "always", "flag", "config", "caller", "inherit"),
        meaning="who decides whether half precision is used",
    ),
    "precision.dtypes": Field(
        values=("float32", *HALVES, "fp8"),
        meaning="types below float32 that the source can select",
        many=True,
    ),
    "precision.compute_dtype": Field(
        values=("float32", *HALVES, "bf16_or_fp16", "launcher_or_config", "inherit"),
        meaning="what runs with the defaults as written; bf16_or_fp16: the device decides",
        recipe="precision.compute_dtype",
    ),
    "precision.flag": Field(values=TEXT, meaning="name of the switch"),
    "precision.mode": Field(
        values=("mixed", "full"),
        meaning="float32 weights, or half weights with float32 copies",
        recipe="precision.mode",
    ),
    "precision.level": Field(values=TEXT, meaning="level as the library calls it: O1, O2"),
    "precision.tf32": Field(values=("yes", "no"), meaning="TF32 matmuls", recipe="precision.tf32"),
    "loss_scaling.mode": Field(
        values=(
            *("none", "static", "dynamic", "framework_default", "env_default", "selectable"),
            *("elsewhere", *_WHO),
        ),
        meaning="dynamic: its parameters are stated; framework_default: a scaler without "
        "parameters; env_default: switched on through the environment; selectable: a flag decides",
        recipe="loss_scaling.mode",
    ),
    **{
        f"loss_scaling.{name}": Field(values=NUMBER, meaning=meaning, recipe=f"loss_scaling.{name}")
        for name, meaning in (
            ("init_scale", "first scale of a dynamic one"),
            ("scale", "the scale of a static one"),
            ("min_scale", "lowest scale"),
            ("max_scale", "highest scale"),
            ("growth_interval", "clean steps before it grows"),
            ("growth_factor", "factor of growth"),
            ("backoff_factor", "factor of the back-off"),
            ("hysteresis", "overflows before the back-off"),
        )
    },
    "loss_scaling.with_bfloat16": Field(
        values=("no",),
        meaning="no scaler is on where bfloat16 is the type: each asks for float16, or is off "
        "with the defaults of flags",
    ),
    "loss_scaling.api": Field(
        values=(
            *("paddle.amp.AmpScaler", "paddle.fluid.contrib.mixed_precision.decorate"),
            "paddle.static.amp.decorate (FP16_ONLY)",
            "tensorflow.keras.mixed_precision.LossScaleOptimizer",
            "tf_keras.mixed_precision.LossScaleOptimizer",
            *("apex.fp16_utils.FP16_Optimizer", "apex.contrib.optimizers.FP16_Optimizer"),
        ),
        meaning="what scales the loss, where an interface has several with other defaults",
    ),
    "accumulation.present": Field(
        values=("yes", "no"),
        meaning="there is accumulation, even if it is of 1 by default",
    ),
    "accumulation.steps": Field(
        values=NUMBER, meaning="micro-batches of a window", recipe="accumulation.steps"
    ),
    "accumulation.loss_divided": Field(
        values=("yes", "no", "no_by_design", "token_normalised", "conditional", *_WHO),
        meaning="whether losses are divided before they are summed up; no_by_design: the loss is a "
        "sum",
    ),
    "accumulation.tail": Field(
        values=(
            "leak",
            "dropped",
            "not_consumed",
            "carried_over",
            "stepped",
            "renormalized",
            "none",
            *_WHO,
        ),
        meaning="a short last window: leaks into the next epoch, its gradients are dropped, its "
        "batches are never used, the counter runs on, it is applied, "
        "applied and divided by its own length, or there is none",
        recipe="accumulation.tail",
    ),
    "accumulation.no_sync": Field(
        values=("yes", "no", "flag", *_WHO),
        meaning="whether the all-reduce waits for the end of the window",
    ),
    "loss.kind": Field(
        values=("cross_entropy", "binary_cross_entropy", "mse"),
        meaning="the loss that is differentiated, if it is just one of these",
        recipe="loss.kind",
    ),
    "loss.named": Field(
        values=(
            *("nll", "class_probabilities", "binary_probabilities", "one_hot"),
            *("one_hot_probabilities", "l1", "smooth_l1"),
        ),
        meaning="the loss of a library that is differentiated, where no recipe has a kind for it",
    ),
    "loss.label_smoothing": Field(
        values=NUMBER, meaning="smoothing of labels", recipe="loss.label_smoothing"
    ),
    "loss.trainer_smoothing": Field(
        values=NUMBER,
        meaning="label smoothing of Hugging Face's Trainer, whose loss is cross-entropy if it is "
        "not 0, and the model's or the program's otherwise",
    ),
    "loss.smoothed_by": Field(
        values=("trainer",),
        meaning="the program leaves the loss to the Trainer, which smooths labels of its model",
    ),
    "loss.class_weights": Field(
        values=("weighted_mean",),
        meaning="classes have weights, by whose sum over the labels the loss is divided",
    ),
    "loss.ignore_index": Field(values=NUMBER, meaning="a label that counts for nothing"),
    "loss.mean_over": Field(
        values=("all_labels",),
        meaning="the loss is divided by the number of all labels, ignored ones among them",
    ),
    "zero_grad.where": Field(
        values=(
            *("before_forward", "before_backward", "after_step", "window_start"),
            *("functional", "static_graph", *_WHO),
        ),
        meaning="where gradients are cleared",
    ),
    "clipping.kind": Field(
        values=(
            *("none", "global_norm", "value", "per_param_norm", "per_var_then_global"),
            *("layerwise", "selectable", "library_default", "elsewhere", "caller", "inherit"),
            *("other_norm", "adaptive", "partial", "at_times"),
        ),
        meaning="how gradients are clipped",
        recipe="clipping.kind",
    ),
    "clipping.value": Field(
        values=NUMBER, meaning="norm or value of the clip", recipe="clipping.*"
    ),
    "clipping.eps": Field(
        values=NUMBER, meaning="what is added to the norm", recipe="clipping.eps"
    ),
    "clipping.unscaled_first": Field(
        values=("yes", "no", "amp_master_params", "library", "mixed"),
        meaning="whether the loss scale is gone when gradients are clipped",
    ),
    "clipping.per": Field(
        values=("step", "micro", "library"), meaning="once a window or every time"
    ),
    "scaler_update.status": Field(
        values=("ok", "per_optimizer", "per_micro", "missing", "custom", *_WHO),
        meaning="how often the loss scale is updated",
    ),
    **{
        f"optimizer.{name}": Field(
            values=values, meaning=meaning, recipe=f"optimizer.{path}", of_subject=True
        )
        for name, path, values, meaning in (
            (
                "name",
                "name",
                (
                    *("sgd", "adam", "adamw", "lamb", "novograd", "adafactor", "rmsprop"),
                    *("adagrad", "adadelta", "ftrl", "lion", "radam", "lars", "selectable"),
                    *("elsewhere", "caller", "library_default", "inherit"),
                ),
                "sgd includes momentum",
            ),
            ("source_name", "", TEXT, "as the source calls it"),
            ("learning_rate", "learning_rate", NUMBER, "highest rate"),
            ("betas.0", "betas", NUMBER, "decay of the first moment"),
            ("betas.1", "betas", NUMBER, "decay of the second moment"),
            ("eps", "eps", NUMBER, "epsilon"),
            ("weight_decay", "weight_decay", NUMBER, "decoupled decay"),
            ("l2", "weight_decay", NUMBER, "coupled decay"),
            ("momentum", "momentum", NUMBER, "momentum of SGD"),
            ("nesterov", "nesterov", ("yes", "no"), "Nesterov's form"),
            ("no_decay", "no_decay", ("yes", "no"), "groups without decay"),
            ("rate_groups", "groups", ("yes", "no"), "groups with rates of their own"),
            ("role", "", TEXT, "which part it trains: generator, discriminator"),
        )
    },
    **{
        f"optimizer.{name}_changed": Field(
            values=("later", "computed"),
            meaning=f"the program changes {name} after it made the optimizer",
            of_subject=True,
        )
        for name in ("learning_rate", "weight_decay", "momentum", "betas", "eps")
    },
    "schedule.name": Field(
        values=(
            *("constant", "linear", "cosine", "polynomial", "exponential", "step", "multistep"),
            *("step_custom", "plateau", "noam", "inverse_sqrt", "onecycle", "custom"),
            *("selectable", "elsewhere", "caller", "library_default", "inherit"),
        ),
        meaning="fall of the learning rate after the warm-up",
        recipe="schedule.name",
    ),
    "schedule.warmup": Field(
        values=TEXT, meaning="length of the warm-up: a number of steps, a share, an expression"
    ),
    "schedule.has_warmup": Field(values=("yes", "no"), meaning="whether there is a warm-up"),
    "schedule.warmup_form": Field(
        values=("ahead", "early", "behind", "logarithmic", "flat", "apart", "product", "jump"),
        meaning="how it differs from a line that ends where the fall begins",
    ),
    "schedule.warmup_start_factor": Field(
        values=NUMBER, meaning="first rate of the warm-up as a share of the highest"
    ),
    "schedule.warmup_start_lr": Field(
        values=NUMBER,
        meaning="first rate of the warm-up",
        recipe="schedule.warmup_start_lr",
    ),
    "schedule.peak": Field(values=NUMBER, meaning="highest rate, if the program sets the rates"),
    "schedule.end_factor": Field(values=NUMBER, meaning="last rate as a share of the highest"),
    "schedule.power": Field(
        values=NUMBER, meaning="exponent of a polynomial", recipe="schedule.power"
    ),
    "schedule.decay_from": Field(
        values=("warmup_end", "start"),
        meaning="step from which the fall is counted",
        recipe="schedule.decay_from",
    ),
    "schedule.total_steps": Field(
        values=NUMBER, meaning="length of the schedule", recipe="schedule.total_steps"
    ),
    "schedule.stepped_per": Field(
        values=("step", "micro", "epoch", "library", "selectable"),
        meaning="what advances it: updates, micro-batches, epochs",
    ),
    "schedule.on_skip": Field(
        values=("steps", "guarded", "library"),
        meaning="whether it moves on when the scaler skips an update",
        recipe="schedule.tick",
    ),
    "ema.decay": Field(values=NUMBER, meaning="average of the weights", recipe="ema.decay"),
    "activation_checkpointing": Field(
        values=("none", "yes", "flag", "config"),
        meaning="activations are computed again in the backward pass",
        recipe="activation_checkpointing",
    ),
    "parallel.kind": Field(
        values=(
            *("none", "dp", "ddp", "apex_ddp", "fsdp", "horovod", "deepspeed"),
            *("deepspeed_zero0", "deepspeed_zero1", "deepspeed_zero2", "deepspeed_zero3"),
            *("megatron", "mirrored", "multiworker", "tpu", "towers", "strategy_by_flag"),
            *("paddle_dp", "paddle_transpiler", "fleet", "fleet_hybrid", "pmap", "mesh", *_WHO),
        ),
        meaning="how work is spread over devices",
        many=True,
    ),
    "parallel.backend": Field(values=("nccl", "gloo", "mpi", "flag"), meaning="how they talk"),
    "parallel.world_size": Field(values=NUMBER, meaning="number of processes"),
    "parallel.nodes": Field(values=NUMBER, meaning="number of machines"),
    "batch.micro_batch_size": Field(
        values=NUMBER, meaning="rows of one forward pass", recipe="batch.micro_batch_size"
    ),
    "batch.drop_last": Field(
        values=("yes", "no"), meaning="whether a short last batch of an epoch is left out"
    ),
    "batch.global_batch_size": Field(
        values=NUMBER, meaning="rows of one update", recipe="batch.global_batch_size"
    ),
    "run.epochs": Field(values=NUMBER, meaning="epochs of the run"),
    "run.besides": Field(
        values=("grouped_rows", "embedding_noise", "idle_loss_scale", "moved_weights"),
        meaning="what changes the updates and no recipe can say",
        many=True,
    ),
    "seed": Field(values=NUMBER, meaning="seed", recipe="seed"),
    "data.shuffle": Field(
        values=("yes", "no"),
        meaning="whether every epoch has the rows in another order",
        recipe="data.shuffle",
    ),
    "data.sequence_length": Field(
        values=NUMBER, meaning="tokens of a row", recipe="data.sequence_length"
    ),
}

_PRINTED = {
    "loss_scaling.init_scale": "loss_scaling.init",
    "loss_scaling.min_scale": "loss_scaling.min",
    "loss_scaling.max_scale": "loss_scaling.max",
    "optimizer.name": "optimizer.family",
    "optimizer.source_name": "optimizer.name",
    "optimizer.learning_rate": "optimizer.lr",
    "optimizer.betas.0": "optimizer.beta1",
    "optimizer.betas.1": "optimizer.beta2",
    **{f"clipping.{name}": f"clip.{name}" for name in ("kind", "value", "unscaled_first", "per")},
    "precision.compute_dtype": "precision.default_dtype",
    "schedule.name": "schedule.decay",
    "activation_checkpointing": "activation_checkpointing.mode",
    "seed": "run.seed",
    "data.sequence_length": "run.sequence_length",
}
"""Fields that version 1 of what `lift --json` prints has under another name."""

_PRINTED_TYPES: dict[Plain, Plain] = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}
_PRINTED_VALUES: dict[str, dict[Plain, Plain]] = {
    "precision.dtypes": _PRINTED_TYPES,
    "precision.compute_dtype": _PRINTED_TYPES,
    "schedule.name": {"constant": "none", "polynomial": "poly", "inverse_sqrt": "rsqrt"},
}
"""Values that it has under another name, by the field that has them."""


def printed_name(field: str) -> str:
    """Return the name of a field of the vocabulary in reports."""
    return _PRINTED.get(field, field)


def printed_value(field: str, value: PlainValue) -> PlainValue:
    """Return the name of a field's value in reports."""
    values = _PRINTED_VALUES.get(field, {})
    if isinstance(value, tuple):
        return tuple(values.get(part, part) for part in value)
    return values.get(value, value)
