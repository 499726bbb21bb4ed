"""Defaults of training libraries that are not targets of crosscast.

The values are from the named source files; nothing was run.
"""

from __future__ import annotations

from collections.abc import Mapping

from crosscast.targets.defaults import Defaults, Value

_DOUBLING: Mapping[str, Value] = {
    "loss_scaling.growth_factor": 2.0,
    "loss_scaling.backoff_factor": 0.5,
}
_APEX: Mapping[str, Value] = {
    **_DOUBLING,
    "loss_scaling.init_scale": 2.0**16,
    "loss_scaling.growth_interval": 2000,
    "loss_scaling.hysteresis": 1,
}
_ADAM: Mapping[str, Value] = {"lr": 0.001, "betas": (0.9, 0.999), "eps": 1e-8}
_LATE = "the scale grows after one clean step more than the interval says"

LIBRARY_DEFAULTS: tuple[Defaults, ...] = (
    Defaults(
        api="apex.amp.initialize",
        package="apex",
        arguments={
            "opt_level": "O1",
            "loss_scale": None,
            "num_losses": 1,
            "min_loss_scale": None,
            "max_loss_scale": 2.0**24,
        },
        fixed=_APEX,
        source="NVIDIA/apex apex/amp/frontend.py and scaler.py before cb65b8ed",
        note="loss_scale None: dynamic at O1 and O2, 1.0 at O0 and O3; it is updated at every "
        "exit of scale_loss",
    ),
    Defaults(
        api="apex.fp16_utils.FP16_Optimizer",
        package="apex.fp16_utils",
        arguments={"init_scale": 2.0**32, "scale_factor": 2.0, "scale_window": 1000},
        fixed={
            "loss_scaling.backoff_factor": 0.5,
            "loss_scaling.hysteresis": 1,
            "loss_scaling.min_scale": 1.0,
        },
        source="NVIDIA/apex apex/fp16_utils/loss_scaler.py, 2fa4dbaf",
        note="with dynamic_loss_scale=True; the arguments are the keys of dynamic_loss_args",
    ),
    Defaults(
        api="apex.optimizers.FusedAdam",
        package="apex",
        arguments={**_ADAM, "weight_decay": 0.0},
        source="NVIDIA/apex apex/optimizers/fused_adam.py, 004da4ed",
        note="the decay is decoupled unless adam_w_mode=False",
    ),
    Defaults(
        api="apex.optimizers.FusedLAMB",
        package="apex",
        arguments={**_ADAM, "eps": 1e-6, "weight_decay": 0.01, "max_grad_norm": 1.0},
        fixed={"clipping.eps": 0.0},
        source="NVIDIA/apex apex/optimizers/fused_lamb.py, 16fadfe7; csrc/multi_tensor_lamb.cu",
        note="gradients are divided by norm / max_grad_norm where the norm is larger",
    ),
    Defaults(
        api="apex.optimizers.FusedSGD",
        package="apex",
        arguments={"momentum": 0.0, "dampening": 0.0, "weight_decay": 0.0, "nesterov": False},
        source="NVIDIA/apex apex/optimizers/fused_sgd.py, 00dbe4b4",
        note="lr has no default",
    ),
    *(
        Defaults(
            api=f"deepspeed.ops.adam.{name}",
            package="deepspeed",
            arguments={**_ADAM, "weight_decay": 0.0},
            source=f"microsoft/DeepSpeed deepspeed/ops/adam/{file}",
        )
        for name, file in (
            ("FusedAdam", "fused_adam.py, 048b0d50"),
            ("DeepSpeedCPUAdam", "cpu_adam.py, 005c7cc8"),
        )
    ),
    *(
        Defaults(
            api=f"bitsandbytes.optim.{name}",
            package="bitsandbytes",
            arguments={**_ADAM, "weight_decay": 0.01},
            source="bitsandbytes-foundation/bitsandbytes bitsandbytes/optim/adamw.py, 06029dd6",
        )
        for name in (
            *("AdamW", "AdamW8bit", "AdamW32bit"),
            *("PagedAdamW", "PagedAdamW8bit", "PagedAdamW32bit"),
        )
    ),
    Defaults(
        api="apex.contrib.optimizers.FP16_Optimizer",
        package="apex.contrib",
        arguments={"static_loss_scale": 1.0, "dynamic_loss_scale": False},
        fixed={
            **_DOUBLING,
            "loss_scaling.init_scale": 2.0**16,
            "loss_scaling.growth_interval": 1000,
            "loss_scaling.hysteresis": 1,
            "loss_scaling.min_scale": 1.0,
        },
        source="NVIDIA/apex apex/contrib/optimizers/fp16_optimizer.py, 123854c3",
        note="it takes no dynamic_loss_args",
    ),
    Defaults(
        api="deepspeed fp16",
        package="deepspeed",
        arguments={
            "loss_scale": 0,
            "initial_scale_power": 16,
            "loss_scale_window": 1000,
            "hysteresis": 2,
            "consecutive_hysteresis": False,
            "min_loss_scale": 1,
        },
        fixed={**_DOUBLING, "loss_scaling.hysteresis_mode": "cumulative"},
        source="deepspeedai/DeepSpeed deepspeed/runtime/fp16/loss_scaler.py, edaa7221",
        note=f"{_LATE}; at the floor it raises; loss_scale 0 means dynamic",
    ),
    Defaults(
        api="deepspeed.initialize",
        package="deepspeed",
        arguments={"gradient_clipping": 0.0},
        fixed={"accumulation.tail": "carry", "schedule.tick": "update"},
        source="deepspeedai/DeepSpeed deepspeed/runtime/engine.py, 0.19.8",
        note="windows are counted over epochs; gradient_clipping is a key of the configuration",
    ),
    Defaults(
        api="megatron flags",
        package="megatron-core",
        arguments={
            "initial-loss-scale": 2.0**32,
            "min-loss-scale": 1.0,
            "loss-scale-window": 1000,
            "hysteresis": 2,
        },
        fixed={**_DOUBLING, "loss_scaling.hysteresis_mode": "cumulative"},
        source="NVIDIA/Megatron-LM megatron/core/optimizer/grad_scaler.py, d98e8a64",
    ),
    Defaults(
        api="accelerate.Accelerator",
        package="accelerate",
        arguments={
            "mixed_precision": None,
            "gradient_accumulation_steps": 1,
            "step_scheduler_with_optimizer": True,
        },
        fixed={"accumulation.tail": "flush", "schedule.tick": "update"},
        source="accelerate/accelerator.py 1.15.0",
        note="a scheduler ticks once per process unless split_batches is set; the scaler is "
        "torch's",
    ),
    Defaults(
        api="lightning.pytorch.Trainer",
        package="lightning",
        arguments={
            "precision": None,
            "accumulate_grad_batches": 1,
            "gradient_clip_val": None,
            "gradient_clip_algorithm": None,
        },
        fixed={"accumulation.tail": "flush", "schedule.tick": "attempt"},
        source="lightning/pytorch/trainer/trainer.py 2.6.6",
        note="gradient_clip_algorithm None means the norm; the scaler is torch's",
    ),
    Defaults(
        api="transformers.TrainingArguments",
        package="transformers",
        since="5.23",
        arguments={
            "per_device_train_batch_size": 8,
            "gradient_accumulation_steps": 1,
            "learning_rate": 5e-5,
            "weight_decay": 0.0,
            "adam_beta1": 0.9,
            "adam_beta2": 0.999,
            "adam_epsilon": 1e-8,
            "max_grad_norm": 1.0,
            "num_train_epochs": 3.0,
            "lr_scheduler_type": "linear",
            "warmup_steps": 0,
            "bf16": False,
            "fp16": False,
            "seed": 42,
        },
        fixed={"accumulation.tail": "flush_renormalized", "schedule.tick": "update"},
        source="transformers/training_args.py 5.23.0",
        note="weights of layer norms and biases are spared from decay",
    ),
    Defaults(
        api="mmcv.runner.Fp16OptimizerHook",
        package="mmcv",
        arguments={"loss_scale": 512.0},
        source="open-mmlab/mmcv mmcv/runner/hooks/optimizer.py 1.x",
        note="a number is a static scale, `dynamic` and a dictionary are torch's GradScaler",
    ),
    Defaults(
        api="paddle ernie flags",
        package="ernie",
        arguments={
            "use_fp16": False,
            "loss_scaling": 1.0,
            "weight_decay": 0.01,
            "lr_scheduler": "linear_warmup_decay",
        },
        fixed={
            "optimizer.name": "adamw",
            "optimizer.eps": 1e-8,
            "clipping.kind": "global_norm",
            "clipping.max_norm": 1.0,
        },
        source="PaddlePaddle/ERNIE BERT/optimization.py and ernie/optimization.py, 0a9ad511 and "
        "69a9e2fa",
        note="Adam with a decoupled decay made by hand; these are scripts, not a library",
    ),
    Defaults(
        api="detectron2 SOLVER",
        package="detectron2",
        arguments={
            "BASE_LR": 0.001,
            "MOMENTUM": 0.9,
            "WEIGHT_DECAY": 0.0001,
            "WEIGHT_DECAY_NORM": 0.0,
            "MAX_ITER": 40000,
            "WARMUP_ITERS": 1000,
            "IMS_PER_BATCH": 16,
            "CLIP_VALUE": 1.0,
        },
        fixed={"optimizer.name": "sgd", "clipping.kind": "none"},
        source="facebookresearch/detectron2 detectron2/config/defaults.py, 084acd0f",
        note="settings of SOLVER; CLIP_GRADIENTS and AMP are off; `norm` clips every parameter by "
        "itself",
    ),
)
