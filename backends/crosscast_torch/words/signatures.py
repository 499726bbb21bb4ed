"""Signatures of PyTorch and of libraries that bring optimizers and schedules for it.

Read in torch 1.8.1, 1.10.2, 1.13.1, 2.3.1 and 2.13.0; parameters that were appended over the years
keep their place. Where an order changed between two releases that were read, both orders stand for
what lies between. `torch.autocast` of 1.10 took `enabled` second and no `dtype`; that order is left
out, as without a version it would hide the data type of every newer script. The autocast and scaler
of `npu` and `mlu` come with plug-ins of the vendors and were not read; they are taken to be CUDA's.

Read in the history of apex: its amp since March 2019, its optimizers since December 2018. Of its
FusedAdam there were two orders under one version number, so only what they share is bound by place.
Read in timm 0.4.12 to 1.0.31, lion-pytorch 0.0.3 and 0.2.5, bitsandbytes 0.35.0 to 0.50.2 and
torch-optimizer 0.0.1a12 and 0.3.0.
"""

from __future__ import annotations

from crosscast_reading.pysource.libraries.words import Signature

_SCALER = "init_scale growth_factor backoff_factor growth_interval enabled"
_SHARDED_SCALER = "init_scale backoff_factor growth_factor growth_interval enabled"
_AUTOCAST = "enabled dtype cache_enabled"

_AMP: dict[str, Signature] = {
    "torch.amp.autocast": "device_type dtype enabled cache_enabled",
    "torch.amp.GradScaler": f"device {_SCALER}",
    "torch.amp.custom_fwd": "fwd * device_type cast_inputs",
    "torch.amp.custom_bwd": "bwd * device_type",
    "torch.cuda.amp.custom_fwd": "fwd * cast_inputs",
    "torch.cuda.amp.custom_bwd": "bwd",
    **{f"torch.{d}.amp.autocast": _AUTOCAST for d in ("cuda", "cpu", "xpu", "npu", "mlu")},
    **{f"torch.{d}.amp.GradScaler": _SCALER for d in ("cuda", "cpu", "npu", "mlu")},
    "torch.distributed.fsdp.sharded_grad_scaler.ShardedGradScaler": (
        ("", "2.3", _SHARDED_SCALER),
        ("2.0", "", f"device {_SHARDED_SCALER}"),
    ),
    **{
        f"torch.{amp}.GradScaler.{name}": words
        for amp in ("amp", "cuda.amp", "cpu.amp")
        for name, words in (
            ("scale", "outputs"),
            ("unscale_", "optimizer"),
            ("step", "optimizer"),
            ("update", "new_scale"),
        )
    },
}

_OPTIMIZERS: dict[str, Signature] = {
    f"torch.optim.{name}": words
    for name, words in (
        (
            "Adam",
            "params lr betas eps weight_decay amsgrad * foreach maximize capturable "
            "differentiable fused decoupled_weight_decay",
        ),
        (
            "AdamW",
            "params lr betas eps weight_decay amsgrad * maximize foreach capturable "
            "differentiable fused",
        ),
        (
            "SGD",
            "params lr momentum dampening weight_decay nesterov * maximize foreach "
            "differentiable fused",
        ),
        ("RMSprop", "params lr alpha eps weight_decay momentum centered * foreach maximize"),
        ("Adagrad", "params lr lr_decay weight_decay initial_accumulator_value eps * foreach"),
        ("Adadelta", "params lr rho eps weight_decay * foreach maximize"),
        ("Adamax", "params lr betas eps weight_decay * foreach maximize"),
        ("NAdam", "params lr betas eps weight_decay momentum_decay * decoupled_weight_decay"),
        ("RAdam", "params lr betas eps weight_decay * decoupled_weight_decay foreach maximize"),
        ("ASGD", "params lr lambd alpha t0 weight_decay"),
        ("LBFGS", "params lr max_iter max_eval tolerance_grad tolerance_change history_size"),
        ("SparseAdam", "params lr betas eps * maximize"),
        ("Adafactor", "params lr beta2_decay eps d weight_decay * foreach maximize"),
        ("Rprop", "params lr etas step_sizes"),
        ("Muon", "params lr weight_decay momentum nesterov"),
    )
}

_SCHEDULES: dict[str, Signature] = {
    f"torch.optim.lr_scheduler.{name}": words
    for name, words in (
        ("LambdaLR", "optimizer lr_lambda last_epoch"),
        ("MultiplicativeLR", "optimizer lr_lambda last_epoch"),
        ("StepLR", "optimizer step_size gamma last_epoch"),
        ("MultiStepLR", "optimizer milestones gamma last_epoch"),
        ("ConstantLR", "optimizer factor total_iters last_epoch"),
        ("LinearLR", "optimizer start_factor end_factor total_iters last_epoch"),
        ("ExponentialLR", "optimizer gamma last_epoch"),
        ("SequentialLR", "optimizer schedulers milestones last_epoch"),
        ("ChainedScheduler", "schedulers optimizer"),
        ("PolynomialLR", "optimizer total_iters power last_epoch"),
        ("CosineAnnealingLR", "optimizer T_max eta_min last_epoch"),
        ("CosineAnnealingWarmRestarts", "optimizer T_0 T_mult eta_min last_epoch"),
        ("ReduceLROnPlateau", "optimizer mode factor patience"),
        ("CyclicLR", "optimizer base_lr max_lr step_size_up step_size_down mode gamma"),
        (
            "OneCycleLR",
            "optimizer max_lr total_steps epochs steps_per_epoch pct_start anneal_strategy "
            "cycle_momentum base_momentum max_momentum div_factor final_div_factor",
        ),
    )
}

_REST: dict[str, Signature] = {
    "torch.nn.utils.clip_grad_norm_": "parameters max_norm norm_type error_if_nonfinite foreach",
    "torch.nn.utils.clip_grad_norm": "parameters max_norm norm_type",
    "torch.nn.utils.clip_grad_value_": "parameters clip_value foreach",
    "torch.nn.parallel.DistributedDataParallel": "module device_ids output_device dim "
    "broadcast_buffers * process_group bucket_cap_mb find_unused_parameters "
    "gradient_as_bucket_view static_graph",
    "torch.nn.parallel.DataParallel": "module device_ids output_device dim",
    "torch.multiprocessing.spawn": "fn args nprocs join daemon start_method",
    "torch.multiprocessing.start_processes": "fn args nprocs join daemon start_method",
    "torch.distributed.init_process_group": "backend init_method timeout world_size rank",
    "torch.distributed.fsdp.FullyShardedDataParallel": "module process_group sharding_strategy "
    "cpu_offload auto_wrap_policy backward_prefetch mixed_precision",
    "torch.distributed.fsdp.MixedPrecision": "param_dtype reduce_dtype buffer_dtype",
    "torch.utils.data.DataLoader": "dataset batch_size shuffle sampler batch_sampler num_workers "
    "collate_fn pin_memory drop_last timeout worker_init_fn",
    "torch.utils.data.DistributedSampler": "dataset num_replicas rank shuffle seed drop_last",
    "torch.utils.checkpoint.checkpoint": "function",
    "torch.utils.checkpoint.checkpoint_sequential": "functions segments input",
    "torch.optim.swa_utils.AveragedModel": (
        ("", "2.3", "model device avg_fn use_buffers"),
        ("2.0", "", "model device avg_fn multi_avg_fn use_buffers"),
    ),
    "torch.optim.swa_utils.SWALR": "optimizer swa_lr anneal_epochs anneal_strategy last_epoch",
    "torch.autograd.grad": "outputs inputs grad_outputs retain_graph create_graph",
    "torch.autograd.backward": "tensors grad_tensors retain_graph create_graph",
    "torch.nn.LayerNorm": (
        ("", "2.3", "normalized_shape eps elementwise_affine device dtype"),
        ("2.0", "", "normalized_shape eps elementwise_affine bias"),
    ),
    "torch.nn.CrossEntropyLoss": "weight size_average ignore_index reduce reduction "
    "label_smoothing",
    "torch.nn.functional.cross_entropy": "input target weight size_average ignore_index reduce "
    "reduction label_smoothing",
    "torch.nn.MSELoss": "size_average reduce reduction",
    "torch.nn.functional.mse_loss": "input target size_average reduce reduction",
    "torch.nn.BCEWithLogitsLoss": "weight size_average reduce reduction pos_weight",
    "torch.nn.functional.binary_cross_entropy_with_logits": "input target weight size_average "
    "reduce reduction pos_weight",
    "torch.compile": "model",
    "torch.manual_seed": "seed",
    "torch.set_float32_matmul_precision": "precision",
    "torch.set_default_dtype": "d",
    "torch.nn.Dropout": "p inplace",
}

_FUSED_LAMB = (
    "params lr bias_correction betas eps weight_decay amsgrad adam_w_mode grad_averaging "
    "set_grad_none max_grad_norm use_nvlamb"
)
_APEX: dict[str, Signature] = {
    "apex.amp.initialize": "models optimizers enabled opt_level cast_model_type "
    "patch_torch_functions keep_batchnorm_fp32 master_weights loss_scale cast_model_outputs "
    "num_losses verbosity min_loss_scale max_loss_scale",
    "apex.amp.scale_loss": "loss optimizers loss_id model delay_unscale delay_overflow_check",
    "apex.amp.master_params": "optimizer",
    "apex.parallel.DistributedDataParallel": "module message_size delay_allreduce",
    "apex.optimizers.FusedAdam": (
        ("", "", "params lr bias_correction betas eps adam_w_mode weight_decay amsgrad"),
        ("", "", "params lr bias_correction betas eps eps_inside_sqrt weight_decay max_grad_norm"),
    ),
    "apex.optimizers.FusedLAMB": _FUSED_LAMB,
    "apex.optimizers.FusedSGD": "params lr momentum dampening weight_decay nesterov",
    "apex.optimizers.FusedNovoGrad": "params lr bias_correction betas eps weight_decay amsgrad "
    "reg_inside_moment grad_averaging norm_type init_zero set_grad_none",
    "apex.optimizers.FusedAdagrad": "params lr eps weight_decay set_grad_none adagrad_w_mode",
    "apex.optimizers.FP16_Optimizer": "init_optimizer static_loss_scale dynamic_loss_scale",
    "apex.fp16_utils.FP16_Optimizer": "init_optimizer static_loss_scale dynamic_loss_scale "
    "dynamic_loss_args verbose",
}

_OTHERS: dict[str, Signature] = {
    "timm.utils.NativeScaler.__call__": "loss optimizer clip_grad clip_mode parameters "
    "create_graph need_update",
    "timm.utils.ApexScaler.__call__": "loss optimizer clip_grad clip_mode parameters create_graph "
    "need_update",
    "timm.utils.dispatch_clip_grad": "parameters value mode norm_type",
    "lion_pytorch.Lion": "params lr betas weight_decay",
    "bitsandbytes.optim.AdamW8bit": "params lr betas eps weight_decay",
    "bitsandbytes.optim.Adam8bit": "params lr betas eps weight_decay",
    "torch_optimizer.Lamb": "params lr betas eps weight_decay",
    "torch_optimizer.NovoGrad": "params lr betas eps weight_decay grad_averaging amsgrad",
}

SIGNATURES: dict[str, Signature] = {
    **_AMP,
    **_OPTIMIZERS,
    **_SCHEDULES,
    **_REST,
    **_APEX,
    **_OTHERS,
}
