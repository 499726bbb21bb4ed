"""Library parameters for the fields of a recipe: one table per library, for reading and writing.

A parameter is an argument, a key of a configuration or a flag, in the spelling of Python: a flag
`--loss-scale-window` is `loss_scale_window`. In the tables, `lr=learning_rate` is the parameter
`lr` of the field `learning_rate`, and a lone word is called as its field.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

_GRAD_SCALER = "init_scale growth_factor backoff_factor growth_interval"
_TORCH = "lr=learning_rate betas eps momentum weight_decay nesterov beta2_decay d=clip_threshold"
_BETAS = "beta1=betas.0 beta2=betas.1"
_KERAS_BETAS = "beta_1=betas.0 beta_2=betas.1"
_OTHER_BETAS = f"{_BETAS} {_KERAS_BETAS} b1=betas.0 b2=betas.1"
_KERAS = {
    "optimizer": f"learning_rate {_KERAS_BETAS} epsilon=eps momentum weight_decay nesterov",
    "loss_scaling": "initial_scale=init_scale dynamic_growth_steps=growth_interval",
}
_PADDLE_SCALING = (
    "init_loss_scaling=init_scale incr_every_n_steps=growth_interval "
    "decr_every_n_nan_or_inf=hysteresis incr_ratio=growth_factor decr_ratio=backoff_factor"
)
_CLASSIC_SCRIPT = {
    "seed": "random_seed=seed",
    "batch": "batch_size=micro_batch_size",
    "data": "max_seq_len=sequence_length",
    "optimizer": "learning_rate weight_decay",
    "loss_scaling": _PADDLE_SCALING,
}
_ADAM = "adam_beta1=betas.0 adam_beta2=betas.1"
_TRAINER = {
    "seed": "seed",
    "batch": "per_device_train_batch_size=micro_batch_size "
    "per_gpu_train_batch_size=micro_batch_size",
    "accumulation": "gradient_accumulation_steps=steps",
    "optimizer": f"learning_rate {_ADAM} adam_epsilon=eps weight_decay",
    "clipping": "max_grad_norm=max_norm",
    "schedule": "max_steps=total_steps warmup_steps lr_scheduler_type=name lr_scheduler=name "
    "lr_end=end_lr min_lr=end_lr power",
}

_TABLES: Mapping[str, Mapping[str, str]] = {
    "torch": {"optimizer": _TORCH, "loss_scaling": _GRAD_SCALER},
    "torch classes": {
        "optimizer": f"{_TORCH} {_OTHER_BETAS} learning_rate lr_max=learning_rate "
        "max_lr=learning_rate epsilon=eps e=eps adam_epsilon=eps",
    },
    "bitsandbytes": {"optimizer": _TORCH},
    "timm flags": {"optimizer": "lr=learning_rate momentum weight_decay opt_eps=eps"},
    "keras": _KERAS,
    "tf_keras": _KERAS,
    "tensorflow": {
        "optimizer": f"{_KERAS['optimizer']} {_BETAS} use_nesterov=nesterov",
        "loss_scaling": f"{_KERAS['loss_scaling']} initial_loss_scale=init_scale "
        "init_loss_scale=init_scale increment_period=growth_interval "
        "incr_every_n_steps=growth_interval decr_every_n_nan_or_inf=hysteresis "
        "multiplier=growth_factor incr_ratio=growth_factor decr_ratio=backoff_factor "
        "loss_scale_value=scale loss_scale=scale",
    },
    "paddle": {
        "optimizer": f"learning_rate {_BETAS} epsilon=eps momentum weight_decay "
        "lamb_weight_decay=weight_decay use_nesterov=nesterov always_adapt",
        "loss_scaling": _PADDLE_SCALING,
    },
    "optax": {
        "optimizer": "learning_rate b1=betas.0 b2=betas.1 eps momentum weight_decay nesterov",
    },
    "flax": {
        "loss_scaling": "scale=init_scale growth_interval growth_factor backoff_factor "
        "minimum_scale=min_scale",
    },
    "jmp": {
        "loss_scaling": "loss_scale=init_scale period=growth_interval factor=growth_factor "
        "min_loss_scale=min_scale",
    },
    "graph classes": {
        "optimizer": f"{_OTHER_BETAS} learning_rate lr=learning_rate init_lr=learning_rate "
        "init_value=learning_rate base_lr=learning_rate epsilon=eps eps momentum weight_decay "
        "weight_decay_rate=weight_decay lamb_weight_decay=weight_decay nesterov "
        "use_nesterov=nesterov",
    },
    "lark": _CLASSIC_SCRIPT,
    "ernie": _CLASSIC_SCRIPT,
    "models-bert": _CLASSIC_SCRIPT,
    "paddle flags": {"optimizer": "learning_rate lr=learning_rate weight_decay"},
    "paddle suites": {"optimizer": f"momentum {_BETAS} epsilon=eps use_nesterov=nesterov"},
    "paddlevit": {"optimizer": "EPS=eps MOMENTUM=momentum"},
    "apex": {
        "optimizer": _TORCH,
        "loss_scaling": "min_loss_scale=min_scale max_loss_scale=max_scale",
    },
    "apex.fp16_utils": {
        "loss_scaling": "init_scale scale_window=growth_interval scale_factor=growth_factor",
    },
    "deepspeed": {
        "batch": "train_micro_batch_size_per_gpu=micro_batch_size "
        "train_batch_size=global_batch_size",
        "accumulation": "gradient_accumulation_steps=steps",
        "clipping": "gradient_clipping=max_norm",
        "optimizer": "lr=learning_rate betas eps momentum weight_decay nesterov",
        "schedule": "warmup_num_steps=warmup_steps total_num_steps=total_steps "
        "warmup_min_lr=warmup_start_lr",
        "loss_scaling": "loss_scale_window=growth_interval hysteresis min_loss_scale=min_scale",
    },
    "megatron-core": {
        "seed": "seed",
        "data": "seq_length=sequence_length",
        "optimizer": f"lr=learning_rate {_ADAM} adam_eps=eps weight_decay sgd_momentum=momentum",
        "schedule": "lr_decay_style=name lr_decay_iters=total_steps train_iters=total_steps",
        "loss_scaling": "initial_loss_scale=init_scale loss_scale_window=growth_interval "
        "hysteresis min_loss_scale=min_scale",
    },
    "nemo": {
        "optimizer": "lr=learning_rate betas eps momentum weight_decay nesterov",
        "loss_scaling": "native_amp_init_scale=init_scale "
        "native_amp_growth_interval=growth_interval hysteresis",
    },
    "fairseq": {
        "optimizer": "lr=learning_rate adam_betas=betas adam_eps=eps weight_decay momentum",
        "loss_scaling": "fp16_init_scale=init_scale fp16_scale_window=growth_interval",
    },
    "transformers": _TRAINER,
    "paddlenlp": {**_TRAINER, "loss_scaling": "scale_loss=init_scale"},
    "axolotl": {
        "seed": "seed",
        "data": "sequence_len=sequence_length",
        "optimizer": f"learning_rate weight_decay {_ADAM} adam_epsilon=eps",
    },
    "accelerate": {
        "batch": "per_device_train_batch_size=micro_batch_size train_batch_size=micro_batch_size",
        "accumulation": "gradient_accumulation_steps=steps",
        "clipping": "gradient_clipping=max_norm",
        "optimizer": "learning_rate weight_decay adam_weight_decay=weight_decay "
        f"{_ADAM} adam_epsilon=eps",
    },
    "usual names": {
        "seed": "seed random_seed=seed",
        "accumulation": "gradient_accumulation_steps=steps update_freq=steps",
        "clipping": "max_grad_norm=max_norm clip_grad_norm=max_norm grad_clip_norm=max_norm "
        "gradient_clip_norm=max_norm grad_norm_clip=max_norm clip_norm=max_norm "
        "global_clipnorm=max_norm global_norm_clip=max_norm clip_value=max_value "
        "grad_clip_value=max_value gradient_clip_value=max_value",
        "optimizer": f"learning_rate lr=learning_rate base_lr=learning_rate init_lr=learning_rate "
        "initial_lr=learning_rate start_lr=learning_rate lr_init=learning_rate "
        "base_learning_rate=learning_rate initial_learning_rate=learning_rate "
        f"{_OTHER_BETAS} {_ADAM} epsilon=eps eps adam_epsilon=eps adam_eps=eps momentum "
        "weight_decay wd=weight_decay",
        "schedule": "warmup_steps "
        "lr_scheduler_type=name lr_scheduler=name scheduler=name lr_schedule=name "
        "learning_rate_fn=name learning_rate_schedule=name learning_rate_scheduler=name "
        "lr_scheduler_name=name lr_policy=name lr_decay_style=name lr_decay=name lr_fn=name "
        "decay_type=name lr_type=name",
    },
    "lightning": {
        "seed": "seed seed_everything=seed",
        "accumulation": "accumulate_grad_batches=steps",
        "clipping": "gradient_clip_val=max_norm",
        "optimizer": "lr=learning_rate learning_rate weight_decay",
    },
    "litgpt": {
        "data": "max_seq_length=sequence_length",
        "schedule": "max_steps=total_steps",
        "batch": "global_batch_size micro_batch_size",
    },
    "composer": {
        "seed": "seed",
        "data": "max_seq_len=sequence_length",
        "optimizer": "lr=learning_rate betas eps momentum weight_decay nesterov",
    },
    "nanogpt": {
        "optimizer": f"learning_rate weight_decay {_BETAS}",
        "schedule": "lr_decay_iters=total_steps max_iters=total_steps",
        "batch": "batch_size=micro_batch_size",
        "data": "block_size=sequence_length",
    },
    "model garden": {
        "optimizer": f"{_KERAS_BETAS} epsilon=eps momentum weight_decay_rate=weight_decay "
        "weight_decay nesterov",
    },
    "openseq2seq": {
        "optimizer": f"{_BETAS} epsilon=eps momentum use_nesterov=nesterov",
        "batch": "batch_size_per_gpu=micro_batch_size",
        "schedule": "max_steps=total_steps",
    },
}
"""Library to section of a recipe to its words.

`torch classes` and `graph classes` are the optimizers that programs and small packages define, for
PyTorch, and for TensorFlow, Paddle and JAX; `usual names` are those of programs that are not read,
in flags and configurations.
"""
LIBRARIES = tuple(_TABLES)


@cache
def _pairs(library: str) -> tuple[tuple[str, str], ...]:
    """Return the parameters of a library with their paths in a recipe."""
    pairs = []
    for section, words in _TABLES.get(library, {}).items():
        for entry in words.split():
            word, _, field = entry.partition("=")
            name = field or word
            pairs.append((word, name if name == section else f"{section}.{name}"))
    return tuple(pairs)


def parameter_words(library: str, *sections: str) -> dict[str, str]:
    """Return parameter to path in a recipe, of these sections or of all; empty for none.

    Args:
        library: name of its table; other libraries have no words.
        sections: `optimizer`, `loss_scaling`, ...; `seed` is a section, too.
    """
    return {
        word: path
        for word, path in _pairs(library)
        if not sections or path.partition(".")[0] in sections
    }


def scaling_words(library: str) -> dict[str, str]:
    """Return parameter to recipe path for a library's loss scaling; empty for none."""
    return parameter_words(library, "loss_scaling")


def optimizer_words(library: str) -> dict[str, str]:
    """Return parameter to recipe path for a library's optimizers; empty for none."""
    return parameter_words(library, "optimizer")


def fields_of(library: str, *sections: str) -> dict[str, tuple[str, ...]]:
    """Return path in a recipe to the parameters that set it, the usual one first."""
    words_by_path: dict[str, tuple[str, ...]] = {}
    for word, path in parameter_words(library, *sections).items():
        words_by_path[path] = (*words_by_path.get(path, ()), word)
    return words_by_path


def in_words(library: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values of fields by the usual parameters of a library, in the order of the values."""
    words = fields_of(library)
    return {words[path][0]: value for path, value in values.items()}
