"""Arguments of Hugging Face's Trainer, from wherever they come: flags, JSON, YAML."""

from __future__ import annotations

from crosscast.readers.config.settings import Said, Setting, Settings, number_of, switch_of
from crosscast.readers.words import (
    no_auto,
    positive,
    tell_clip,
    tell_decay,
    tell_optimizer,
    tell_warmup,
    tell_window,
)
from crosscast.targets.library_defaults import LIBRARY_DEFAULTS
from crosscast.targets.parameter_words import fields_of, optimizer_words, parameter_words

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


def tell_trainer(said: Said, settings: Settings, *, api: str = "hf_trainer") -> None:
    """Say what arguments of the Trainer mean, what it does by default included."""
    said.tell("framework", "pytorch", origin="presence")
    said.tell("api", api, *_first(settings), origin="presence")
    _precision(said, settings)
    _batch(said, settings)
    _clip(said, settings)
    _optimizer(said, settings)
    _schedule(said, settings)
    said.by_library("zero_grad.where", "scaler_update.status")
    for name, switch in (("seed", "seed"), ("run.epochs", "num_train_epochs")):
        said.number(name, settings.get(switch))
    recompute = settings.get("gradient_checkpointing", "activation_checkpointing")
    if recompute is not None and recompute.switch is not None:
        word = "yes" if recompute.switch else "none"
        said.tell("activation_checkpointing", word, recompute)
    _parallel(said, settings)


def _first(settings: Settings) -> tuple[Setting, ...]:
    found = settings.get(*_BATCH)
    return () if found is None else (found,)


def _precision(said: Said, settings: Settings) -> None:
    half = [(settings.get(name), name) for name in ("fp16", "bf16", "pure_bf16")]
    on = [(one, name) for one, name in half if one is not None and one.switch is True]
    if len(on) > 1:
        first, second = (name for _, name in on[:2])
        said.warn("CC925", f"{first} and {second} are both switched on", on[1][0])
    if on:
        setting, name = on[0]
        dtype = "float16" if name == "fp16" else "bfloat16"
        said.tell("precision.enabled", "always", setting)
        said.tell("precision.dtypes", dtype, setting)
        said.tell("precision.compute_dtype", dtype, setting)
        said.tell("precision.mode", "full" if name == "pure_bf16" else "mixed", setting)
        said.tell(
            "loss_scaling.mode",
            "library" if dtype == "float16" else "none",
            setting,
            origin="presence",
        )
    elif unclear := [one for one, _ in half if one is not None and one.switch is None]:
        reason = unclear[0].reason or f"{unclear[0].name} is {unclear[0].text!r}"
        said.unknown("precision.compute_dtype", reason, *unclear)
        said.tell("precision.enabled", "config", *unclear)
    else:
        given = [one for one, _ in half if one is not None]
        if given:
            said.tell("precision.enabled", "never", *given)
            said.tell("precision.compute_dtype", "float32", *given)
        else:
            said.default("precision.enabled", "never")
            said.default("precision.compute_dtype", "float32")
        said.tell("loss_scaling.mode", "none", *given, origin="presence")
    if (tf32 := settings.get("tf32")) is not None and tf32.switch is not None:
        said.tell("precision.tf32", "yes" if tf32.switch else "no", tf32)
    if level := settings.get("fp16_opt_level"):
        said.tell("precision.level", level.text, level)


def _batch(said: Said, settings: Settings) -> None:
    steps = settings.get(*_WORDS["accumulation.steps"])
    tell_window(said, steps)
    if steps is None:
        said.default("accumulation.steps", 1)
    if rows := no_auto(settings.get(*_BATCH)):
        said.number("batch.micro_batch_size", rows)
    else:
        said.default("batch.micro_batch_size", DEFAULTS[_BATCH[0]])


def _clip(said: Said, settings: Settings) -> None:
    (word,) = _WORDS["clipping.max_norm"]
    if not tell_clip(said, settings.get(word)):
        said.default("clipping.kind", "global_norm")
        said.default("clipping.value", DEFAULTS[word])
        said.by_library("clipping.unscaled_first", "clipping.per")


def _optimizer(said: Said, settings: Settings) -> None:
    name = settings.get("optim", "optimizer")
    if settings.is_on("adafactor"):
        said.tell("optimizer.name", "adafactor", settings.get("adafactor"))
    elif name is None:
        said.default("optimizer.name", "adamw")
    else:
        tell_optimizer(said, name)
    for argument, field in optimizer_words("transformers").items():
        if setting := settings.get(argument):
            said.number(field, setting)
        else:
            said.default(field, DEFAULTS[argument])
    said.default("optimizer.no_decay", "yes")
    _momentum(said, settings.get("optim_args"))


def _momentum(said: Said, arguments: Setting | None) -> None:
    """Say what `momentum=0.9,nesterov=true` means."""
    parts = arguments.text.replace(" ", "").split(",") if arguments is not None else []
    given = dict(part.split("=", 1) for part in parts if "=" in part)
    if (momentum := number_of(given.get("momentum"))) is not None:
        said.tell("optimizer.momentum", momentum, arguments)
        nesterov = switch_of(given.get("nesterov", "false"))
        said.tell("optimizer.nesterov", "yes" if nesterov else "no", arguments)


def _schedule(said: Said, settings: Settings) -> None:
    kind = settings.get(*_WORDS["schedule.name"])
    warmup = settings.get(*_WORDS["schedule.warmup_steps"])
    tell_warmup(said, warmup, settings.get("warmup_ratio"))
    said.number("schedule.total_steps", positive(settings.get(*_WORDS["schedule.total_steps"])))
    if kind is None:
        said.default("schedule.name", "linear")
    elif tell_decay(said, kind):
        _unused_warmup(said, settings, kind)
    said.by_library("schedule.stepped_per", "schedule.on_skip")
    _end(said, settings, "" if kind is None else kind.text.lower())


def _end(said: Said, settings: Settings, name: str) -> None:
    """Say where the fall ends, for the schedules that can be told; a recipe has names for it."""
    names = {"polynomial": ("lr_end", "power"), "cosine_with_min_lr": ("min_lr",)}.get(name, ())
    words = parameter_words("transformers", "schedule")
    for argument in names:
        setting = settings.get(argument)
        if setting is not None and setting.number is not None:
            said.tell(f"recipe.{words[argument]}", float(setting.number), setting)


def _unused_warmup(said: Said, settings: Settings, kind: Setting) -> None:
    given = settings.get("warmup_steps", "warmup_ratio")
    if kind.text.lower() == "constant" and given is not None and given.number:
        said.warn(
            "CC926",
            f"the schedule constant does not warm up: {given.name} has no effect",
            given,
            hint="constant_with_warmup does",
        )


def _parallel(said: Said, settings: Settings) -> None:
    if (config := settings.get("deepspeed")) is not None and config.value not in (None, "", False):
        said.tell("parallel.kind", "deepspeed", config)
        said.tell("api", "deepspeed", config, origin="presence")
        if isinstance(config.value, str) and config.text.lower() != "true":
            said.mention(config.text)
    if (sharded := settings.get("fsdp")) is not None and sharded.text not in ("", "False"):
        said.tell("parallel.kind", "fsdp", sharded)
