"""Arguments of Hugging Face's Trainer in any form: flags, JSON, YAML."""

from __future__ import annotations

from crosscast.targets.library_defaults import LIBRARY_DEFAULTS
from crosscast.targets.parameter_words import fields_of, optimizer_words, parameter_words
from crosscast_reading.readers.settings import (
    Setting,
    Settings,
    SettingWriter,
    number_of,
    switch_of,
)
from crosscast_reading.readers.words import (
    first_given,
    no_auto,
    positive,
    tell_clip,
    tell_decay,
    tell_optimizer,
    tell_warmup,
    tell_window,
)

ONLY_THERE = frozenset(
    (
        *("per_device_train_batch_size", "per_device_eval_batch_size", "overwrite_output_dir"),
        *("per_gpu_train_batch_size", "per_gpu_eval_batch_size", "evaluation_strategy"),
        *("eval_strategy", "save_strategy", "save_total_limit", "save_steps", "logging_steps"),
        *("logging_strategy", "predict_with_generate", "lr_scheduler_type", "num_train_epochs"),
        *("fp16_full_eval", "bf16_full_eval", "ddp_find_unused_parameters", "optim", "report_to"),
        *("remove_unused_columns", "group_by_length", "load_best_model_at_end", "do_train"),
        *("logging_dir", "model_name_or_path", "fsdp_transformer_layer_cls_to_wrap"),
    )
)
_ELSEWHERE = frozenset({"num_warmup_steps", "checkpointing_steps", "with_tracking"})
"""Flags of hand-written loops whose other flags have the Trainer's names."""
_WORDS = fields_of("transformers")
_BATCH = _WORDS["batch.micro_batch_size"]
DEFAULTS = next(d.arguments for d in LIBRARY_DEFAULTS if d.api == "transformers.TrainingArguments")


def are_trainer_arguments(settings: Settings, least: int = 3) -> bool:
    """Return whether these can only be arguments of the Trainer."""
    if settings.having(_ELSEWHERE):
        return False
    return len(settings.having(ONLY_THERE)) >= least


def tell_trainer(writer: SettingWriter, settings: Settings, *, api: str = "hf_trainer") -> None:
    """Record the facts of arguments of the Trainer, its defaults included."""
    writer.tell("framework", "pytorch", origin="presence")
    writer.tell("api", api, *_first(settings), origin="presence")
    _precision(writer, settings)
    _batch(writer, settings)
    _clip(writer, settings)
    _optimizer(writer, settings)
    _schedule(writer, settings, ends=api == "hf_trainer")
    writer.by_library("zero_grad.where", "scaler_update.status")
    for name, switch in (("seed", "seed"), ("run.epochs", "num_train_epochs")):
        writer.number(name, settings.get(switch))
    _besides(writer, settings)
    recompute = settings.get("gradient_checkpointing", "activation_checkpointing")
    writer.switch("activation_checkpointing", recompute, off="none")
    _parallel(writer, settings)


def tell_smoothing(writer: SettingWriter, settings: Settings) -> None:
    """Record the label smoothing of the Trainer itself, not of a library's that extends it."""
    writer.number("loss.trainer_smoothing", settings.get("label_smoothing_factor"))


def _first(settings: Settings) -> tuple[Setting, ...]:
    batch = settings.get(*_BATCH)
    return () if batch is None else (batch,)


def _precision(writer: SettingWriter, settings: Settings) -> None:
    half = [(settings.get(name), name) for name in ("fp16", "bf16", "pure_bf16")]
    on = [(flag, name) for flag, name in half if flag is not None and flag.switch is True]
    if len(on) > 1:
        first, second = (name for _, name in on[:2])
        writer.warn("CC925", f"{first} and {second} are both enabled", on[1][0])
    if on:
        setting, name = on[0]
        dtype = "float16" if name == "fp16" else "bfloat16"
        writer.tell("precision.enabled", "always", setting)
        writer.tell("precision.dtypes", dtype, setting)
        writer.tell("precision.compute_dtype", dtype, setting)
        writer.tell("precision.mode", "full" if name == "pure_bf16" else "mixed", setting)
        writer.tell(
            "loss_scaling.mode",
            "library" if dtype == "float16" else "none",
            setting,
            origin="presence",
        )
    elif unclear := [flag for flag, _ in half if flag is not None and flag.switch is None]:
        reason = unclear[0].reason or f"{unclear[0].name} is {unclear[0].text!r}"
        writer.unknown("precision.compute_dtype", reason, *unclear)
        writer.tell("precision.enabled", "config", *unclear)
    else:
        given = [flag for flag, _ in half if flag is not None]
        if given:
            writer.tell("precision.enabled", "never", *given)
            writer.tell("precision.compute_dtype", "float32", *given)
        else:
            writer.default("precision.enabled", "never")
            writer.default("precision.compute_dtype", "float32")
        writer.tell("loss_scaling.mode", "none", *given, origin="presence")
    writer.switch("precision.tf32", settings.get("tf32"))
    if level := settings.get("fp16_opt_level"):
        writer.tell("precision.level", level.text, level)


def _batch(writer: SettingWriter, settings: Settings) -> None:
    steps = settings.get(*_WORDS["accumulation.steps"])
    tell_window(writer, steps)
    if steps is None:
        writer.default("accumulation.steps", 1)
    if rows := no_auto(settings.get(*_BATCH)):
        writer.number("batch.micro_batch_size", rows)
    else:
        writer.default("batch.micro_batch_size", DEFAULTS[_BATCH[0]])


def _clip(writer: SettingWriter, settings: Settings) -> None:
    (word,) = _WORDS["clipping.max_norm"]
    if not tell_clip(writer, settings.get(word)):
        writer.default("clipping.kind", "global_norm")
        writer.default("clipping.value", DEFAULTS[word])
        writer.by_library("clipping.unscaled_first", "clipping.per")


def _optimizer(writer: SettingWriter, settings: Settings) -> None:
    name = settings.get("optim", "optimizer")
    if settings.is_on("adafactor"):
        writer.tell("optimizer.name", "adafactor", settings.get("adafactor"))
    elif name is None:
        writer.default("optimizer.name", "adamw")
    else:
        tell_optimizer(writer, name)
    for argument, field in optimizer_words("transformers").items():
        if setting := settings.get(argument):
            writer.number(field, setting)
        else:
            writer.default(field, DEFAULTS[argument])
    writer.default("optimizer.no_decay", "yes")
    _momentum(writer, settings.get("optim_args"))


def _momentum(writer: SettingWriter, arguments: Setting | None) -> None:
    """Record the facts of `momentum=0.9,nesterov=true`."""
    parts = arguments.text.replace(" ", "").split(",") if arguments is not None else []
    given = dict(part.partition("=")[::2] for part in parts)
    if (momentum := number_of(given.get("momentum"))) is not None:
        writer.tell("optimizer.momentum", momentum, arguments)
        nesterov = switch_of(given.get("nesterov", "false"))
        writer.tell("optimizer.nesterov", "yes" if nesterov else "no", arguments)


def _schedule(writer: SettingWriter, settings: Settings, *, ends: bool) -> None:
    kind = first_given(settings.get(*_WORDS["schedule.name"]))
    warmup = settings.get(*_WORDS["schedule.warmup_steps"])
    tell_warmup(writer, warmup, settings.get("warmup_ratio"))
    writer.number("schedule.total_steps", positive(settings.get(*_WORDS["schedule.total_steps"])))
    if kind is None:
        writer.default("schedule.name", "linear")
    else:
        tell_decay(writer, kind)
        _unused_warmup(writer, settings, kind)
    writer.by_library("schedule.stepped_per", "schedule.on_skip")
    name = "linear" if kind is None else kind.text.lower()
    if ends and name in ("linear", "cosine") and settings.get("lr_scheduler_kwargs") is None:
        writer.default("schedule.end_factor", 0.0)
        writer.default("schedule.decay_from", "warmup_end")
    _end(writer, settings, name)


def _end(writer: SettingWriter, settings: Settings, name: str) -> None:
    """Record the final learning rate of the schedules that define one."""
    names = {"polynomial": ("lr_end", "power"), "cosine_with_min_lr": ("min_lr",)}.get(name, ())
    words = parameter_words("transformers", "schedule")
    for argument in names:
        setting = settings.get(argument)
        number = None if setting is None else setting.number
        if number is not None:
            writer.tell(f"recipe.{words[argument]}", float(number), setting)


def _unused_warmup(writer: SettingWriter, settings: Settings, kind: Setting) -> None:
    given = positive(settings.get("warmup_steps", "warmup_ratio"))
    if kind.text.lower() == "constant" and given is not None:
        writer.warn(
            "CC926",
            f"the schedule constant does not warm up: {given.name} has no effect",
            given,
            hint="constant_with_warmup does",
        )


def _besides(writer: SettingWriter, settings: Settings) -> None:
    """Record settings that change the updates and that no recipe has."""
    grouped, chosen = settings.get("group_by_length"), settings.get("train_sampling_strategy")
    if grouped is not None and grouped.switch is True:
        writer.tell("run.besides", "grouped_rows", grouped)
    elif chosen is not None and chosen.text == "group_by_length":
        writer.tell("run.besides", "grouped_rows", chosen)
    if (noise := positive(settings.get("neftune_noise_alpha"))) is not None:
        writer.tell("run.besides", "embedding_noise", noise)


def _parallel(writer: SettingWriter, settings: Settings) -> None:
    if (config := settings.get("deepspeed")) is not None and config.value not in (None, "", False):
        writer.tell("parallel.kind", "deepspeed", config)
        writer.tell("api", "deepspeed", config, origin="presence")
        if config.switch is None:
            writer.mention(config.text)
    elif (sharded := settings.get("fsdp")) is not None and sharded.text not in ("", "False"):
        writer.tell("parallel.kind", "fsdp", sharded)
