"""Signatures of Paddle 2 and 3, and of PaddleNLP's schedules.

Read in paddlepaddle 2.6.2, 3.0.0 and 3.3.1 and in paddlenlp 2.0.0 and 2.8.1; Paddle 2.0 to 2.5 were
not at hand. What later versions put in between is bound by place only up to there.
"""

from __future__ import annotations

from crosscast_reading.pysource.libraries.words import Signature

_STATIC_OLD = (
    "optimizer amp_lists init_loss_scaling incr_every_n_steps decr_every_n_nan_or_inf incr_ratio "
    "decr_ratio use_dynamic_loss_scaling use_pure_fp16 use_fp16_guard use_bf16"
)
_STATIC_NEW = (
    "optimizer amp_lists level dtype master_weight master_grad init_loss_scaling "
    "incr_every_n_steps decr_every_n_nan_or_inf incr_ratio decr_ratio use_dynamic_loss_scaling "
    "use_amp_guard use_promote"
)
_AMP: dict[str, Signature] = {
    "paddle.amp.auto_cast": "enable custom_white_list custom_black_list level dtype use_promote",
    "paddle.cuda.amp.autocast": "enabled dtype cache_enabled",
    "paddle.amp.autocast": "device_type dtype enabled cache_enabled",
    "paddle.autocast": "device_type dtype enabled cache_enabled",
    "paddle.amp.amp_guard": "enable custom_white_list custom_black_list level dtype use_promote",
    "paddle.amp.GradScaler": "enable init_loss_scaling incr_ratio decr_ratio incr_every_n_steps "
    "decr_every_n_nan_or_inf use_dynamic_loss_scaling",
    "paddle.amp.decorate": "models optimizers level * dtype master_weight save_dtype master_grad "
    "excluded_layers",
    "paddle.amp.GradScaler.scale": "var",
    "paddle.amp.GradScaler.step": "optimizer",
    "paddle.amp.GradScaler.unscale_": "optimizer",
    "paddle.amp.GradScaler.minimize": "optimizer",
    # Since 2.5 there are two, told apart by their keywords: only what they share has a place.
    "paddle.static.amp.decorate": (
        ("", "", _STATIC_OLD),
        ("2.5", "", _STATIC_NEW),
    ),
    "paddle.static.amp.CustomOpLists": (
        "custom_white_list custom_black_list custom_black_varnames dtype"
    ),
    "paddle.static.amp.AutoMixedPrecisionLists": (
        "custom_white_list custom_black_list custom_black_varnames dtype"
    ),
}

_OPTIMIZERS: dict[str, Signature] = {
    f"paddle.optimizer.{name}": words
    for name, words in (
        (
            "Adam",
            "learning_rate beta1 beta2 epsilon parameters weight_decay grad_clip * lazy_mode "
            "multi_precision",
        ),
        (
            "AdamW",
            "learning_rate beta1 beta2 epsilon parameters weight_decay * lr_ratio "
            "apply_decay_param_fun grad_clip lazy_mode multi_precision",
        ),
        ("SGD", "learning_rate parameters weight_decay grad_clip * multi_precision"),
        (
            "Momentum",
            "learning_rate momentum parameters use_nesterov weight_decay grad_clip "
            "* multi_precision rescale_grad",
        ),
        (
            "Lamb",
            "learning_rate lamb_weight_decay beta1 beta2 epsilon parameters grad_clip "
            "* exclude_from_weight_decay_fn multi_precision always_adapt",
        ),
        (
            "RMSProp",
            "learning_rate rho epsilon momentum centered parameters weight_decay grad_clip",
        ),
        ("Adagrad", "learning_rate epsilon parameters weight_decay grad_clip"),
        ("Adadelta", "learning_rate epsilon rho parameters weight_decay grad_clip"),
        ("Adamax", "learning_rate beta1 beta2 epsilon parameters weight_decay grad_clip"),
        ("NAdam", "learning_rate beta1 beta2 epsilon momentum_decay parameters weight_decay"),
        ("RAdam", "learning_rate beta1 beta2 epsilon parameters weight_decay grad_clip"),
    )
}

_SCHEDULES: dict[str, Signature] = {
    f"paddle.optimizer.lr.{name}": words
    for name, words in (
        ("NoamDecay", "d_model warmup_steps learning_rate last_epoch verbose"),
        ("PiecewiseDecay", "boundaries values last_epoch verbose"),
        ("NaturalExpDecay", "learning_rate gamma last_epoch verbose"),
        ("InverseTimeDecay", "learning_rate gamma last_epoch verbose"),
        ("PolynomialDecay", "learning_rate decay_steps end_lr power cycle last_epoch verbose"),
        ("LinearWarmup", "learning_rate warmup_steps start_lr end_lr last_epoch verbose"),
        ("ExponentialDecay", "learning_rate gamma last_epoch verbose"),
        ("MultiStepDecay", "learning_rate milestones gamma last_epoch verbose"),
        ("StepDecay", "learning_rate step_size gamma last_epoch verbose"),
        ("LambdaDecay", "learning_rate lr_lambda last_epoch verbose"),
        ("MultiplicativeDecay", "learning_rate lr_lambda last_epoch verbose"),
        ("ReduceOnPlateau", "learning_rate mode factor patience"),
        ("CosineAnnealingDecay", "learning_rate T_max eta_min last_epoch verbose"),
        ("CosineAnnealingWarmRestarts", "learning_rate T_0 T_mult eta_min last_epoch verbose"),
        ("OneCycleLR", "max_learning_rate total_steps divide_factor end_learning_rate phase_pct"),
        ("CyclicLR", "base_learning_rate max_learning_rate step_size_up step_size_down mode"),
        ("LinearLR", "learning_rate total_steps start_factor end_factor last_epoch verbose"),
        ("LRScheduler", "learning_rate last_epoch verbose"),
    )
}

_REST: dict[str, Signature] = {
    "paddle.nn.CrossEntropyLoss": "weight ignore_index reduction soft_label axis use_softmax "
    "label_smoothing name",
    "paddle.nn.functional.cross_entropy": "input label weight ignore_index reduction soft_label "
    "axis use_softmax label_smoothing name",
    "paddle.nn.MSELoss": "reduction",
    "paddle.nn.functional.mse_loss": "input label reduction name",
    "paddle.nn.BCEWithLogitsLoss": "weight reduction pos_weight name",
    "paddle.nn.functional.binary_cross_entropy_with_logits": "logit label weight reduction "
    "pos_weight name",
    **{
        f"{room}.softmax_with_cross_entropy": "logits label soft_label ignore_index "
        "numeric_stable_mode return_softmax axis"
        for room in ("paddle.nn.functional", "paddle.fluid.layers")
    },
    "paddle.fluid.layers.sigmoid_cross_entropy_with_logits": "x label ignore_index name normalize",
    "paddle.fluid.layers.label_smooth": "label prior_dist epsilon dtype name",
    "paddle.nn.functional.label_smooth": "label prior_dist epsilon name",
    "paddle.nn.ClipGradByGlobalNorm": "clip_norm group_name auto_skip_clip",
    "paddle.nn.ClipGradByNorm": "clip_norm",
    "paddle.nn.ClipGradByValue": "max min",
    "paddle.nn.utils.clip_grad_norm_": "parameters max_norm norm_type error_if_nonfinite",
    "paddle.nn.utils.clip_grad_value_": "parameters clip_value",
    "paddle.Model": "network inputs labels",
    "paddle.Model.prepare": "optimizer loss metrics amp_configs",
    "paddle.Model.fit": "train_data eval_data batch_size epochs eval_freq log_freq save_dir "
    "save_freq verbose drop_last shuffle num_workers callbacks accumulate_grad_batches num_iters",
    "paddle.DataParallel": "layers strategy comm_buffer_size last_comm_buffer_size "
    "find_unused_parameters group",
    "paddle.distributed.fleet.init": "role_maker is_collective strategy",
    "paddle.distributed.fleet.distributed_optimizer": "optimizer strategy",
    "paddle.distributed.fleet.distributed_model": "model",
    "paddle.distributed.fleet.utils.recompute": "function",
    "paddle.incubate.optimizer.GradientMergeOptimizer": "inner_optimizer k_steps avg",
    "paddle.incubate.optimizer.LookAhead": "inner_optimizer alpha k name",
    "paddle.io.DistributedBatchSampler": "dataset batch_size num_replicas rank shuffle drop_last",
    "paddle.io.BatchSampler": "dataset sampler shuffle batch_size drop_last",
    "paddle.io.DataLoader": "dataset feed_list places return_list batch_sampler batch_size "
    "shuffle drop_last",
    "paddle.regularizer.L2Decay": "coeff",
    "paddle.regularizer.L1Decay": "coeff",
    "paddle.seed": "seed",
    "paddle.nn.LayerNorm": "normalized_shape epsilon",
    "paddle.ParamAttr": "name initializer learning_rate regularizer trainable",
    **{
        f"paddlenlp.transformers.{name}": words
        for name, words in (
            ("LinearDecayWithWarmup", "learning_rate total_steps warmup last_epoch verbose"),
            ("ConstScheduleWithWarmup", "learning_rate warmup total_steps last_epoch verbose"),
            ("CosineDecayWithWarmup", "learning_rate total_steps warmup with_hard_restarts"),
            ("PolyDecayWithWarmup", "learning_rate total_steps warmup lr_end power"),
            ("LinearAnnealingWithWarmupDecay", "max_lr min_lr warmup_step decay_step last_epoch"),
            ("CosineAnnealingWithWarmupDecay", "max_lr min_lr warmup_step decay_step last_epoch"),
        )
    },
}

SIGNATURES: dict[str, Signature] = {**_AMP, **_OPTIMIZERS, **_SCHEDULES, **_REST}
