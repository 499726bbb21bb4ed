"""Signatures of trainers: Transformers, Accelerate, Lightning, DeepSpeed, Horovod.

Read in transformers 2.11.0 to 4.46.3 and 5.23.0, pytorch-transformers 1.2.0,
pytorch-pretrained-bert 0.6.2, diffusers 0.3.0 to 0.42.1, accelerate 0.5.0 to 0.34.2 and 1.15.0,
lightning 1.9.5 and 2.6.6, lightning-fabric 1.9.5 and 2.0.9, pytorch-lightning 0.9.0 to 2.0.9 and
2.6.6, horovod's history and 0.28.1, and in single states of DeepSpeed's repository. When
DeepSpeedCPUAdam got `bias_correction` is not known, so its two orders stand for all versions.
"""

from __future__ import annotations

from crosscast_reading.pysource.libraries.words import Signature

_WARMED = "optimizer num_warmup_steps num_training_steps"
_TRANSFORMERS: dict[str, Signature] = {
    "transformers.get_constant_schedule": "optimizer last_epoch",
    "transformers.get_constant_schedule_with_warmup": "optimizer num_warmup_steps last_epoch",
    "transformers.get_linear_schedule_with_warmup": f"{_WARMED} last_epoch",
    "transformers.get_cosine_schedule_with_warmup": f"{_WARMED} num_cycles last_epoch",
    "transformers.get_cosine_with_hard_restarts_schedule_with_warmup": (
        f"{_WARMED} num_cycles last_epoch"
    ),
    "transformers.get_cosine_with_min_lr_schedule_with_warmup": (
        f"{_WARMED} num_cycles last_epoch min_lr min_lr_rate"
    ),
    "transformers.get_polynomial_decay_schedule_with_warmup": (
        f"{_WARMED} lr_end power last_epoch"
    ),
    "transformers.get_inverse_sqrt_schedule": "optimizer num_warmup_steps timescale last_epoch",
    "transformers.get_scheduler": "name optimizer num_warmup_steps num_training_steps "
    "scheduler_specific_kwargs",
    "transformers.AdamW": "params lr betas eps weight_decay correct_bias",
    "transformers.Adafactor": "params lr eps clip_threshold decay_rate beta1 weight_decay "
    "scale_parameter relative_step warmup_init",
    "transformers.TrainingArguments": "output_dir",
    "transformers.Seq2SeqTrainingArguments": "output_dir",
    "transformers.Trainer": "model args data_collator train_dataset eval_dataset",
    "transformers.Seq2SeqTrainer": "model args data_collator train_dataset eval_dataset",
    "transformers.HfArgumentParser": "dataclass_types",
    "transformers.set_seed": "seed deterministic",
    **{
        f"{package}.{name}": words
        for package in ("pytorch_transformers", "pytorch_transformers.optimization")
        for name, words in (
            ("AdamW", "params lr betas eps weight_decay correct_bias"),
            ("ConstantLRSchedule", "optimizer last_epoch"),
            ("WarmupConstantSchedule", "optimizer warmup_steps last_epoch"),
            ("WarmupLinearSchedule", "optimizer warmup_steps t_total last_epoch"),
            ("WarmupCosineSchedule", "optimizer warmup_steps t_total cycles last_epoch"),
        )
    },
    **{
        f"pytorch_pretrained_bert.{name}": (
            "params lr warmup t_total schedule b1 b2 e weight_decay max_grad_norm"
        )
        for name in ("BertAdam", "optimization.BertAdam")
    },
    "diffusers.optimization.get_scheduler": (
        ("", "0.17", "name optimizer num_warmup_steps num_training_steps"),
        ("0.17", "", "name optimizer step_rules num_warmup_steps num_training_steps"),
    ),
    **{
        f"diffusers.optimization.{name}": words
        for name, words in (
            ("get_cosine_schedule_with_warmup", f"{_WARMED} num_cycles last_epoch"),
            ("get_linear_schedule_with_warmup", f"{_WARMED} last_epoch"),
            ("get_constant_schedule_with_warmup", "optimizer num_warmup_steps last_epoch"),
        )
    },
}

_PLACED = "device_placement split_batches"
_STEPPED = "kwargs_handlers step_scheduler_with_optimizer"
_ACCELERATE: dict[str, Signature] = {
    "accelerate.Accelerator": (
        ("", "0.6", f"{_PLACED} fp16 cpu * deepspeed_plugin kwargs_handlers"),
        ("0.6", "0.11", f"{_PLACED} fp16 mixed_precision cpu * deepspeed_plugin kwargs_handlers"),
        (
            "0.11",
            "0.16",
            f"{_PLACED} fp16 mixed_precision gradient_accumulation_steps cpu deepspeed_plugin "
            f"fsdp_plugin * {_STEPPED}",
        ),
        (
            "0.16",
            "0.28",
            f"{_PLACED} mixed_precision gradient_accumulation_steps cpu deepspeed_plugin "
            f"fsdp_plugin * {_STEPPED}",
        ),
        (
            "0.28",
            "",
            f"{_PLACED} mixed_precision gradient_accumulation_steps cpu dataloader_config "
            f"deepspeed_plugin fsdp_plugin * gradient_accumulation_plugin {_STEPPED}",
        ),
    ),
    "accelerate.Accelerator.backward": "loss",
    "accelerate.Accelerator.clip_grad_norm_": "parameters max_norm norm_type",
    "accelerate.Accelerator.clip_grad_value_": "parameters clip_value",
    "accelerate.Accelerator.no_sync": "model",
    "accelerate.Accelerator.unscale_gradients": "optimizer",
    "accelerate.utils.GradientAccumulationPlugin": (
        "num_steps adjust_scheduler sync_with_dataloader sync_each_batch"
    ),
    "accelerate.utils.GradScalerKwargs": (
        "init_scale growth_factor backoff_factor growth_interval enabled"
    ),
    "accelerate.GradScalerKwargs": (
        "init_scale growth_factor backoff_factor growth_interval enabled"
    ),
    "accelerate.utils.set_seed": "seed device_specific",
}

_FABRIC_WORDS = "accelerator strategy devices num_nodes precision plugins callbacks loggers"
_FABRIC: Signature = (("", "2", _FABRIC_WORDS), ("2", "", f"* {_FABRIC_WORDS}"))
_LIGHTNING: dict[str, Signature] = {
    **dict.fromkeys(("lightning.fabric.Fabric", "lightning.Fabric"), _FABRIC),
    "lightning_fabric.Fabric": _FABRIC,
    **{
        f"{package}.Fabric.{name}": words
        for package in ("lightning", "lightning.fabric", "lightning_fabric")
        for name, words in (
            (
                "clip_gradients",
                "module optimizer clip_val max_norm norm_type error_if_nonfinite",
            ),
            ("backward", "tensor"),
            ("no_backward_sync", "module enabled"),
        )
    },
    **{
        f"{package}.LightningModule.{name}": words
        for package in ("lightning", "lightning.pytorch", "pytorch_lightning")
        for name, words in (
            ("clip_gradients", "optimizer gradient_clip_val gradient_clip_algorithm"),
            ("manual_backward", "loss"),
            ("toggle_optimizer", "optimizer"),
        )
    },
    **{
        f"{package}.callbacks.GradientAccumulationScheduler": "scheduling"
        for package in ("lightning.pytorch", "pytorch_lightning")
    },
}

_OTHERS: dict[str, Signature] = {
    "deepspeed.initialize": "args model optimizer model_parameters training_data lr_scheduler "
    "* distributed_port mpu dist_init_required collate_fn config config_params",
    "deepspeed.DeepSpeedEngine.backward": "loss",
    "deepspeed.ops.adam.FusedAdam": (
        "params lr bias_correction betas eps adam_w_mode weight_decay amsgrad"
    ),
    "deepspeed.ops.adam.DeepSpeedCPUAdam": (
        ("", "", "model_params lr betas eps weight_decay amsgrad"),
        ("", "", "model_params lr bias_correction betas eps weight_decay amsgrad adamw_mode"),
    ),
    "horovod.torch.DistributedOptimizer": (
        "optimizer named_parameters compression backward_passes_per_step op "
        "gradient_predivide_factor"
    ),
    "horovod.tensorflow.DistributedOptimizer": (
        "optimizer name use_locking device_dense device_sparse compression sparse_as_dense "
        "backward_passes_per_step op"
    ),
    "horovod.tensorflow.DistributedGradientTape": (
        "gradtape device_dense device_sparse compression sparse_as_dense op"
    ),
    **{
        f"horovod.{package}.DistributedOptimizer": (
            "optimizer name device_dense device_sparse compression sparse_as_dense"
        )
        for package in ("keras", "tensorflow.keras")
    },
}

SIGNATURES: dict[str, Signature] = {**_TRANSFORMERS, **_ACCELERATE, **_LIGHTNING, **_OTHERS}
