"""What other tools call the fields and values of a recipe: tables for hints.

A row says which names are meant and what to write instead. Names are in lower case with `_` for `-`
and spaces. Nothing here changes how a recipe is read.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Key:
    """A key of other tools."""

    tools: str
    """Where users know it from."""
    names: str
    """The spellings, separated by spaces."""
    field: str
    """The field of a recipe with that meaning."""
    write: str = ""
    """A section to write, if more than the name differs; `{value}` is the value that was given."""
    note: str = ""
    """What else differs."""
    within: str = ""
    """The only section in which the key means this; empty for any place."""
    values: str = ""
    """The only values with which the key means this, separated by spaces; empty for any."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value of other tools."""

    tools: str
    field: str
    """The field it is written in."""
    words: str
    """The spellings, separated by spaces; `*` is any that is not similar to a choice."""
    value: str = ""
    """The word of a recipe with that meaning."""
    write: str = ""
    """A section to write, if one word does not say it."""
    note: str = ""
    """What else differs, or what a recipe has instead."""


HF, DS, AX, PL = "Hugging Face", "DeepSpeed", "axolotl", "Lightning"
KERAS, PADDLE, TIMM, TUNE = "Keras", "Paddle", "timm", "torchtune"
FAIRSEQ, MEGATRON, APEX, ACC = "fairseq", "Megatron", "apex", "Accelerate"
_HALF = "precision: {mode: mixed, compute_dtype: float16}"
_BRAIN = "precision: {mode: mixed, compute_dtype: bfloat16}"
_FULL_HALF = "precision: {mode: full, compute_dtype: float16}"
_FULL_BRAIN = "precision: {mode: full, compute_dtype: bfloat16}"
_NONE = "precision: {mode: none}"
_OFF = "false 0 0.0 none null no"
_STEPS = "a recipe counts optimizer steps: epochs x rows / batch.global_batch_size"
_PAIR = "it is a list of both numbers"
_CLASS = "the value is one of the names of a recipe, not of a class"
_ADAM = f"{_CLASS}; DeepSpeed's Adam is adamw unless adam_w_mode is false"
_FACTORS = "after its warm-up, a recipe's rate is constant or falls once, without steps or restarts"
_CUSTOM = "the shipped model is BERT; write `model: {kind: custom, factory: {torch: "
_CUSTOM += "package.module:function}}` for any other"
_WARM = "the warm-up is schedule.warmup_steps or schedule.warmup_ratio"
_LOG_WARM = "DeepSpeed's warm-up is logarithmic by default, that of a recipe is linear"
_MOMENTS = "the moments are float32 here"
_COPY = "a recipe has data parallelism with a whole copy of the model in every process"

KEYS = (
    # precision
    Key(f"{HF}, {DS}, {AX}", "fp16 bf16 tf32", "precision.mode", values="false",
        note="leave it out: float32 is the default"),
    Key(f"{HF}, {DS}, {FAIRSEQ}, {MEGATRON}", "fp16 use_fp16 float16 half",
        "precision.compute_dtype", _HALF),
    Key(f"{HF}, {DS}, {FAIRSEQ}, {MEGATRON}", "bf16 use_bf16 bfloat16", "precision.compute_dtype",
        _BRAIN),
    Key(f"{TIMM}, {PADDLE}, {APEX}, {ACC}", "amp use_amp mixed_precision opt_level amp_level "
        "fp16_opt_level amp_opt_level amp_dtype torch_dtype dtype precision_policy "
        "precision_plugin", "precision", _HALF),
    Key(HF, "allow_tf32 use_tf32", "precision.tf32"),
    Key(f"{HF}, {DS}", "auto_mixed_precision autocast", "precision"),
    # loss scale
    Key(f"{APEX}, {FAIRSEQ}, {MEGATRON}", "loss_scale scale_loss static_loss_scale",
        "loss_scaling", "loss_scaling: {mode: static, scale: {value}}"),
    Key(f"{PADDLE}, {APEX}", "use_dynamic_loss_scaling dynamic_loss_scale dynamic_loss_scaling",
        "loss_scaling.mode", "loss_scaling: {mode: dynamic}"),
    Key(f"{PADDLE}, {MEGATRON}, {FAIRSEQ}", "initial_loss_scale init_loss_scaling fp16_init_scale "
        "init_loss_scale initial_scale", "loss_scaling.init_scale"),
    Key(DS, "initial_scale_power", "loss_scaling.init_scale", note="it is 2 to this power"),
    Key(f"{DS}, {MEGATRON}, {PADDLE}", "loss_scale_window scale_window incr_every_n_steps "
        "fp16_scale_window dynamic_growth_steps", "loss_scaling.growth_interval"),
    Key(f"{DS}, {MEGATRON}", "min_loss_scale", "loss_scaling.min_scale"),
    Key(PADDLE, "incr_ratio", "loss_scaling.growth_factor"),
    Key(PADDLE, "decr_ratio", "loss_scaling.backoff_factor"),
    Key(PADDLE, "decr_every_n_nan_or_inf", "loss_scaling.hysteresis"),
    # batch sizes and accumulation
    Key(f"{KERAS}, {PL}, {TIMM}", "batch_size per_device_train_batch_size "
        "train_micro_batch_size_per_gpu micro_batch_size_per_gpu per_gpu_train_batch_size "
        "batch_size_per_gpu batch_size_per_device device_batch_size", "batch.micro_batch_size"),
    Key(f"{DS}, {HF}", "train_batch_size total_batch_size effective_batch_size "
        "total_train_batch_size", "batch.global_batch_size"),
    Key(HF, "eval_batch_size per_device_eval_batch_size val_batch_size validation_batch_size",
        "batch.micro_batch_size", note="it also is the batch size of the evaluation"),
    Key(f"{HF}, {DS}, {AX}, {ACC}, {TUNE}", "gradient_accumulation_steps gradient_accumulation "
        "accumulation_steps accum_steps grad_accum_steps grad_accum grad_accumulation_steps "
        "acc_steps accum_iter accumulate_grad_batches update_freq iter_size",
        "accumulation.steps"),
    # clipping
    Key(f"{HF}, {DS}, {PL}, {FAIRSEQ}", "max_grad_norm gradient_clip_val gradient_clipping "
        "clip_grad clip_grad_norm grad_clip clip_norm grad_clip_norm grad_norm_clip "
        "gradient_clip_norm", "clipping", values=_OFF, note="leave it out: there is no clipping "
        "by default"),
    Key(f"{HF}, {DS}, {PL}, {FAIRSEQ}, {TIMM}, {MEGATRON}", "max_grad_norm gradient_clip_val "
        "gradient_clipping clip_grad clip_grad_norm grad_clip clip_norm grad_clip_norm "
        "grad_norm_clip gradient_clip_norm max_norm global_clipnorm clip", "clipping.max_norm",
        "clipping: {kind: global_norm, max_norm: {value}}"),
    Key(KERAS, "clipnorm", "clipping.max_norm", "clipping: {kind: per_param_norm, max_norm: "
        "{value}}", "Keras clips every gradient by its own norm"),
    Key(KERAS, "clipvalue clip_value clip_grad_value grad_clip_value", "clipping.max_value",
        "clipping: {kind: value, max_value: {value}}"),
    # optimizer
    Key(f"{HF}, {TIMM}, {FAIRSEQ}, {KERAS}", "lr base_lr max_lr peak_lr peak_learning_rate "
        "learningrate init_lr initial_lr base_learning_rate", "optimizer.learning_rate"),
    Key(f"{FAIRSEQ}, {PADDLE}", "wd weight_decay_rate l2 l2_decay", "optimizer.weight_decay"),
    Key(f"{HF}, {MEGATRON}, {KERAS}", "adam_beta1 adam_beta2 beta1 beta2 beta_1 beta_2",
        "optimizer.betas", note=_PAIR),
    Key(FAIRSEQ, "adam_betas opt_betas", "optimizer.betas"),
    Key(f"{HF}, {FAIRSEQ}, {KERAS}, {TIMM}", "adam_epsilon epsilon adam_eps opt_eps",
        "optimizer.eps"),
    Key(f"{HF}, {TIMM}, {AX}", "optim opt optimizer_name optimizer_type optim_type",
        "optimizer.name"),
    Key(f"{DS}, {TUNE}, {PL}, {KERAS}", "type _component_ _target_ class_path class_name kind",
        "optimizer.name", note=_ADAM, within="optimizer"),
    # schedule
    Key(f"{HF}, {TIMM}, {FAIRSEQ}, {MEGATRON}", "lr_scheduler_type lr_scheduler sched lr_schedule "
        "scheduler_type lr_decay_style scheduler_name schedule_type", "schedule.name"),
    Key(f"{DS}, {PL}", "scheduler learning_rate_scheduler", "schedule"),
    Key(f"{DS}, {TUNE}, {PL}", "type _component_ _target_ class_path class_name kind",
        "schedule.name", note=_CLASS, within="schedule"),
    Key(f"{HF}, {FAIRSEQ}, {MEGATRON}, {PL}", "max_steps max_train_steps train_steps train_iters "
        "max_update max_iters total_iters total_num_steps num_training_steps num_train_steps "
        "training_steps total_updates total_num_update num_steps", "schedule.total_steps"),
    Key(f"{HF}, {KERAS}, {PL}, {TIMM}", "epochs epoch num_train_epochs num_epochs max_epochs "
        "max_epoch n_epochs train_epochs", "schedule.total_steps", note=_STEPS),
    Key(f"{HF}, {FAIRSEQ}, {MEGATRON}, {DS}", "num_warmup_steps warmup_updates warmup_iters "
        "lr_warmup_iters warmup_num_steps lr_warmup_steps warmup", "schedule.warmup_steps"),
    Key(f"{TIMM}, {PADDLE}", "warmup_epochs warmup_epoch", "schedule.warmup_steps", note=_STEPS),
    Key(HF, "warmup_proportion lr_warmup_fraction warmup_fraction pct_start",
        "schedule.warmup_ratio"),
    Key(f"{MEGATRON}, {TIMM}, {FAIRSEQ}, {PADDLE}", "min_lr lr_end eta_min end_learning_rate "
        "final_lr lr_min", "schedule.end_lr"),
    Key(f"{DS}, {TIMM}, {FAIRSEQ}, {MEGATRON}, {PADDLE}", "warmup_min_lr warmup_lr_init warmup_lr "
        "warmup_init_lr lr_warmup_init start_lr", "schedule.warmup_start_lr"),
    Key(f"{HF}, {PADDLE}", "lr_power poly_power", "schedule.power"),
    # model
    Key(HF, "num_hidden_layers num_layers n_layer n_layers encoder_layers", "model.layers"),
    Key(HF, "d_model n_embd hidden_dim dim emb_dim encoder_embed_dim", "model.hidden_size"),
    Key(f"{HF}, {MEGATRON}", "num_attention_heads num_heads n_head n_heads heads",
        "model.attention_heads"),
    Key(f"{HF}, {MEGATRON}", "ffn_hidden_size d_ff n_inner ffn_dim encoder_ffn_embed_dim",
        "model.intermediate_size"),
    Key(HF, "max_position_embeddings n_positions max_source_positions", "model.max_positions"),
    Key(f"{HF}, {TIMM}", "num_labels num_classes n_classes nb_classes", "model.labels"),
    Key(HF, "hidden_dropout_prob attention_probs_dropout_prob dropout_rate drop_rate",
        "model.dropout"),
    Key(HF, "layer_norm_epsilon norm_eps", "model.layer_norm_eps"),
    Key(HF, "initializer_range init_method_std", "model.init_std"),
    Key(HF, "model_name_or_path pretrained_model_name_or_path base_model model_name arch "
        "model_type", "model.kind"),
    Key(f"{TUNE}, {PL}", "type name _component_ _target_ class_path class_name", "model.kind",
        note=_CUSTOM, within="model"),
    # loss
    Key(f"{HF}, {TIMM}", "label_smoothing_factor smoothing label_smooth label_smoothing_eps",
        "loss.label_smoothing"),
    Key(f"{KERAS}, {PL}", "class_weight class_weight_list", "loss.class_weights"),
    Key(f"{TUNE}, {FAIRSEQ}", "type name _component_ _target_ class_path", "loss.kind",
        note=_CLASS, within="loss"),
    Key(f"{FAIRSEQ}, {PADDLE}", "criterion loss_fn loss_function loss_type objective",
        "loss.kind"),
    # data and processes
    Key(f"{HF}, {AX}, {MEGATRON}", "max_seq_length max_length sequence_len seq_len seq_length "
        "max_seq_len max_len cutoff_len context_length", "data.sequence_length"),
    Key(f"{HF}, {TIMM}, {PL}", "num_workers dataloader_num_workers n_workers", "data.workers"),
    Key(f"{HF}, {DS}", "kind type name", "data.source", note=_CLASS, within="data"),
    Key(f"{HF}, {FAIRSEQ}", "train_file train_path train_data", "data.train"),
    Key(f"{HF}, {FAIRSEQ}", "validation_file eval_file valid_file val_file eval_path val_path",
        "data.eval"),
    Key(f"{PL}, {ACC}", "devices gpus num_gpus nproc_per_node num_processes n_gpu gpus_per_node "
        "gpu_num ntasks_per_node", "distributed.processes_per_node"),
    Key(f"{PL}, {ACC}", "num_nodes nnodes num_machines node_num", "distributed.nodes"),
    # other
    Key(f"{HF}, {AX}, {PADDLE}, {FAIRSEQ}", "gradient_checkpointing recompute use_recompute "
        "checkpoint_activations grad_checkpointing activation_checkpoint "
        "enable_activation_checkpointing", "activation_checkpointing"),
    Key(f"{TIMM}, {FAIRSEQ}", "ema_decay model_ema_decay", "ema.decay"),
    Key(f"{TIMM}, {FAIRSEQ}", "model_ema use_ema", "ema.decay", note="its value is the decay"),
    Key(f"{HF}, {PL}", "manual_seed random_seed rng_seed seed_everything training_seed data_seed",
        "seed"),
    Key(f"{HF}, {MEGATRON}", "run_name experiment_name exp_name job_name project_name", "name"),
)  # fmt: skip

VALUES = (
    # precision
    Value(f"{PL}, {HF}, {APEX}, {TIMM}", "precision", "16 fp16 float16 half 16_mixed fp16_mixed "
          "amp true o1 mixed_float16 mixed native apex", write=_HALF),
    Value(f"{PL}, {TUNE}, {KERAS}", "precision", "bf16 bfloat16 bf16_mixed mixed_bfloat16 "
          "amp_bf16 amp_bfloat16", write=_BRAIN),
    Value(f"{PL}, {APEX}", "precision", "16_true fp16_true o2 pure_fp16", write=_FULL_HALF),
    Value(f"{PL}, {TUNE}", "precision", "bf16_true pure_bf16", write=_FULL_BRAIN),
    Value(f"{PL}, {TUNE}, {ACC}", "precision", "32 fp32 float32 32_true no none o0 false null",
          write=_NONE),
    Value(f"{PL}, {APEX}", "precision", "64 64_true fp64 float64 double o3 fp8 transformer_engine",
          note="a recipe computes in float32, float16 or bfloat16, with float32 master weights"),
    Value(f"{HF}, {PL}", "precision.mode", "fp16 float16 half 16 16_mixed amp true o1 "
          "mixed_float16", write=_HALF),
    Value(f"{HF}, {PL}", "precision.mode", "bf16 bfloat16 bf16_mixed mixed_bfloat16",
          write=_BRAIN),
    Value(f"{APEX}, {PL}", "precision.mode", "o2 pure 16_true pure_fp16", write=_FULL_HALF),
    Value(PL, "precision.mode", "bf16_true pure_bf16", write=_FULL_BRAIN),
    Value(f"{ACC}, {PL}, {APEX}", "precision.mode", "no off false o0 32 fp32 float32 null single",
          "none"),
    Value(f"{HF}, {DS}", "precision.compute_dtype", "fp16 half 16 f16 o1", "float16"),
    Value(f"{HF}, {DS}", "precision.compute_dtype", "bf16 bfloat", "bfloat16"),
    Value(f"{HF}, {DS}", "precision.compute_dtype", "fp32 32 f32 single float no", "float32"),
    Value(f"{HF}, {DS}", "precision.param_dtype", "fp16 bf16 float16 bfloat16 half",
          write=_FULL_BRAIN, note="weights in half precision have float32 master weights"),
    # loss scale
    Value(f"{HF}, {DS}, {APEX}", "loss_scaling", "dynamic 0 0.0 true", write="loss_scaling: "
          "{mode: dynamic}"),
    Value(f"{DS}, {APEX}", "loss_scaling", "none false off", write="loss_scaling: {mode: none}"),
    Value(PADDLE, "loss_scaling.mode", "true auto 0", "dynamic"),
    Value(PADDLE, "loss_scaling.mode", "constant fixed", "static"),
    Value(PADDLE, "loss_scaling.mode", "false off no", "none"),
    # optimizer
    Value(f"{HF}, {KERAS}, {DS}", "optimizer.name", "adamw_torch adamw_torch_fused adamw_hf "
          "adam_w adamw_torch_xla fused_adamw fusedadam adamw_apex_fused adamweightdecay "
          "torch.optim.adamw", "adamw"),
    Value(f"{HF}, {AX}, {TUNE}", "optimizer.name", "paged_adamw paged_adamw_32bit adamw_bnb_8bit "
          "paged_adamw_8bit adamw_8bit adamw8bit pagedadamw pagedadamw8bit adam8bit "
          "adamw_torch_8bit adamw_torch_4bit", "adamw", note=_MOMENTS),
    Value(PADDLE, "optimizer.name", "momentum nesterov momentumoptimizer", "sgd",
          note="with optimizer.momentum"),
    Value(f"{HF}, {AX}", "optimizer.name", "lion_32bit lion_8bit paged_lion_8bit paged_lion_32bit "
          "lion_pytorch", "lion", note=_MOMENTS),
    Value(f"{DS}, {MEGATRON}", "optimizer.name", "fusedlamb fused_lamb lamb_apex", "lamb"),
    Value(FAIRSEQ, "optimizer.name", "adafactor_fairseq adafactor_hf", "adafactor"),
    Value(f"{KERAS}, {HF}, {TIMM}", "optimizer.name", "rmsprop adagrad adadelta nadam radam "
          "sophia lars muon novograd adamax ftrl galore_adamw schedule_free_adamw adopt_adamw",
          note="a recipe has sgd, adam, adamw, lamb, lion and adafactor"),
    # schedule
    Value(f"{HF}, {AX}", "schedule.name", "linear_with_warmup get_linear_schedule_with_warmup "
          "linear_decay linearlr linear_schedule linear_warmup", "linear", note=_WARM),
    Value(f"{HF}, {AX}", "schedule.name", "constant_with_warmup get_constant_schedule_with_warmup "
          "warmup constant_warmup", "constant", note=_WARM),
    Value(HF, "schedule.name", "fixed none no get_constant_schedule constantlr", "constant"),
    Value(f"{HF}, {TUNE}, {AX}", "schedule.name", "cosine_with_warmup "
          "get_cosine_schedule_with_warmup linear_warmup_cosine linearwarmupcosineannealinglr",
          "cosine", note=_WARM),
    Value(f"{KERAS}, {PADDLE}, {PL}", "schedule.name", "cosineannealinglr cosine_annealing "
          "cosineannealing cosinedecay cosine_decay cosineannealingdecay cosinelr", "cosine"),
    Value(HF, "schedule.name", "cosine_with_min_lr cosine_warmup_with_min_lr", "cosine",
          note="the least rate is schedule.end_lr"),
    Value(DS, "schedule.name", "warmuplr", "constant", note=_LOG_WARM),
    Value(DS, "schedule.name", "warmupdecaylr", "linear", note=_LOG_WARM),
    Value(DS, "schedule.name", "warmupcosinelr", "cosine", note=_LOG_WARM),
    Value(f"{FAIRSEQ}, {PADDLE}, {KERAS}", "schedule.name", "polynomial_decay polynomialdecay "
          "poly polynomial_decay_with_warmup polynomiallr", "polynomial",
          note="set schedule.power and schedule.end_lr"),
    Value(f"{MEGATRON}, {FAIRSEQ}", "schedule.name", "inverse_square_root inv_sqrt rsqrt invsqrt",
          "inverse_sqrt"),
    Value(f"{PADDLE}, {FAIRSEQ}", "schedule.name", "noam noamdecay noam_decay", "inverse_sqrt",
          note="set optimizer.learning_rate to the rate at the end of the warm-up"),
    Value(f"{HF}, {PL}, {TIMM}", "schedule.name", "cosine_with_restarts cosine_hard_restarts "
          "cosineannealingwarmrestarts cosinedecayrestarts sgdr step steplr multistep multisteplr "
          "exponential exponentiallr exponentialdecay piecewise piecewisedecay plateau "
          "reduce_lr_on_plateau reducelronplateau onecycle onecyclelr one_cycle cyclic cycliclr "
          "wsd warmup_stable_decay tanh tri_stage", note=_FACTORS),
    # model
    Value(HF, "model.kind", "bert_base bert_base_uncased bert_base_cased bert_base_chinese",
          write="model: {kind: bert, preset: base}"),
    Value(HF, "model.kind", "bert_large bert_large_uncased bert_large_cased",
          write="model: {kind: bert, preset: large}"),
    Value(HF, "model.kind", "albert bart distilbert deberta roberta electra ernie", note=_CUSTOM),
    Value(f"{HF}, {TIMM}", "model.kind", "gpt2 gpt llama t5 *", note=_CUSTOM),
    Value(HF, "model.preset", "bert_large bert_large_uncased bert_large_cased", "large"),
    Value(HF, "model.preset", "medium bert_medium", write="model: {kind: bert, layers: 8, "
          "hidden_size: 512, attention_heads: 8, intermediate_size: 2048}"),
    Value(HF, "model.preset", "bert_base bert_base_uncased bert_base_cased bert_base_chinese",
          "base"),
    # loss
    Value(f"{KERAS}, {TUNE}, {PADDLE}", "loss.kind", "crossentropyloss cross_entropy_loss ce xent "
          "crossentropy sparse_categorical_crossentropy softmax_cross_entropy nll nll_loss "
          "label_smoothed_cross_entropy", "cross_entropy"),
    Value(KERAS, "loss.kind", "categorical_crossentropy", "cross_entropy",
          note="the labels are the numbers of the classes"),
    Value(f"{KERAS}, {PADDLE}", "loss.kind", "bce bceloss bce_with_logits bcewithlogitsloss "
          "binary_crossentropy sigmoid_cross_entropy", "binary_cross_entropy",
          note="it takes logits"),
    Value(f"{KERAS}, {PADDLE}", "loss.kind", "mse_loss mseloss mean_squared_error l2 l2_loss "
          "meansquarederror regression", "mse"),
    # clipping
    Value(PL, "clipping.kind", "norm global clip_grad_norm clipgradbyglobalnorm l2 "
          "clip_by_global_norm", "global_norm"),
    Value(PADDLE, "clipping.kind", "clipgradbynorm clip_by_norm per_param clipnorm agc",
          "per_param_norm"),
    Value(PADDLE, "clipping.kind", "clipgradbyvalue clip_by_value clipvalue", "value"),
    # data and processes
    Value(PL, "clipping", "*", write="clipping: {kind: global_norm, max_norm: {value}}"),
    Value(PL, "accumulation", "*", write="accumulation: {steps: {value}}"),
    Value(KERAS, "batch", "*", write="batch: {micro_batch_size: {value}}"),
    Value(TIMM, "ema", "*", write="ema: {decay: {value}}"),
    Value(HF, "data.source", "huggingface hf hf_datasets arrow", "datasets"),
    Value(f"{TIMM}, {KERAS}", "data.source", "imagefolder image_folder image folder", "images"),
    Value(HF, "data.source", "csv tsv json jsonl text txt", note="`crosscast data` writes npz "
          "files from such files"),
    Value(f"{PL}, {KERAS}, {PADDLE}", "distributed.strategy", "ddp dp ddp_spawn dataparallel "
          "distributeddataparallel mirrored multi_worker_mirrored fleet horovod nccl multi_gpu "
          "distributed", "data_parallel"),
    Value(f"{PL}, {ACC}", "distributed.strategy", "auto single no false single_device", "none"),
    Value(f"{PL}, {DS}", "distributed.strategy", "fsdp fsdp2 deepspeed deepspeed_stage_2 zero "
          "deepspeed_stage_3 zero2 zero3 sharded tensor_parallel pipeline", note=_COPY),
    Value(PADDLE, "accumulation.normalize_by", "samples batch row rows example", "sample"),
    Value(HF, "accumulation.normalize_by", "tokens label labels num_items_in_batch", "token"),
)  # fmt: skip
