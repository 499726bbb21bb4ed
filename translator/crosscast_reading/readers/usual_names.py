"""Settings that training programs of all frameworks call alike, where the program is not read.

A name says that something is there, rarely how the program does it: every fact is a guess, and what
a name leaves open is unknown, with the setting that showed it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from crosscast.targets.parameter_words import fields_of
from crosscast_reading.facts.fact import Fact
from crosscast_reading.readers.settings import Setting, SettingWriter
from crosscast_reading.readers.words import PRECISIONS, tell_decay, tell_optimizer, tell_warmup

READER_NAME = "usual_names"
_FIELDS = fields_of("usual names")
SCHEDULES = _FIELDS["schedule.name"]
RATES = (
    *(*_FIELDS["optimizer.learning_rate"], "lr_values", "learning_rates", "lr_fn", "lr_schedule"),
    *("lr_scheduler", "lr_scheduler_type", "lr_policy", "learning_rate_schedule"),
    *("lr_params", "learning_rate_params"),
)
"""Without one of these no settings are taken for those of a training."""
_CLIPS = (
    *("gradient_clipping", "gradient_clip", "grad_clipping", "grad_clip", "clip_grad"),
    *("clip_gradients", "clip_gradient", "gradient_clip_val", "clip", "clipnorm"),
)
"""They do not say what is limited."""
_WARMUP_EPOCHS = ("warmup_epochs",)
_WARMUP_SHARES = ("warmup_ratio", "warmup_proportion", "warmup_fraction", "warmup_prop")
_BOUNDARIES = (
    *("lr_boundaries", "lr_milestones", "milestones", "lr_steps", "decay_boundaries"),
    *("decay_list", "lr_decay_list", "decay_milestones"),
)
_DECAYS = ("decay_steps", "lr_decay_steps", "lr_decay_iters", "decay_iters")
OPTIMIZERS = ("optimizer", "optim", "opt", "opt_name", "optimizer_name", "optimizer_type")
_PRECISIONS = ("precision", "compute_precision", "compute_prec", "compute_dtype", "mixed_precision")
_SWITCHES = {
    "float16": ("fp16", "use_fp16", "float16", "use_float16", "half_precision"),
    "bfloat16": ("bf16", "use_bf16", "bfloat16", "use_bfloat16"),
    "": ("amp", "use_amp", "use_mixed_precision", "mixed_precision", "use_mix_precision"),
}
_RECOMPUTE = (
    *("gradient_checkpointing", "grad_checkpointing", "activation_checkpointing", "recompute"),
    *("use_recompute", "recompute_grad", "gradient_checkpoint", "use_gradient_checkpointing"),
)
STRATEGIES = ("strategy", "distribution_strategy", "distribute_strategy")
_STRATEGIES = {
    **{"tpu": "tpu", "mirrored": "mirrored", "horovod": "horovod"},
    **dict.fromkeys(("multi_worker_mirrored", "multiworker_mirrored"), "multiworker"),
}
"""Strategies of TensorFlow by the names that programs give them."""
_MOST_EPOCHS = 1000
_UNIT = re.compile(r"step|iter|update", re.IGNORECASE)
_EPOCHS = (
    *("epochs", "num_epochs", "n_epochs", "max_epochs", "train_epochs", "num_train_epochs"),
    *("max_epoch", "epoch_num"),
)
LENGTHS = (
    *(*_EPOCHS, "train_steps", "total_steps", "max_steps", "num_train_steps", "num_steps"),
    *("max_iter", "max_iters", "iterations", "total_iters", "train_iters"),
    *("max_train_steps", "train_max_steps", "numb_steps", "max_updates", "num_training_steps"),
)
_BATCHES = (
    *("batch_size", "train_batch_size", "per_device_train_batch_size", "micro_batch_size"),
    *("per_gpu_train_batch_size", "global_batch_size", "batch", "bs", "batchsize"),
)
WARMUP = "schedule.has_warmup"
PRECISION = "precision.enabled"
SCALES = frozenset(
    (
        *("loss_scale", "loss_scaling", "init_loss_scale", "initial_loss_scale"),
        *("init_loss_scaling", "loss_scale_value", "dynamic_loss_scale", "use_loss_scaling"),
        *("use_dynamic_loss_scaling", "static_loss_scale"),
    )
)
_FIXED_SCALES = ("loss_scale", "loss_scaling", "static_loss_scale")
"""With a number above 1, all tools that call it so scale by that number and no other."""
_WARMUPS = frozenset({*_FIELDS["schedule.warmup_steps"], *_WARMUP_EPOCHS, *_WARMUP_SHARES})
FEATURES = {
    "schedule.name": frozenset({*SCHEDULES, *_WARMUPS}),
    WARMUP: _WARMUPS,
    "clipping.kind": frozenset(
        {*_FIELDS["clipping.max_norm"], *_FIELDS["clipping.max_value"], *_CLIPS} - {"clip"}
    ),
    "accumulation.present": frozenset(_FIELDS["accumulation.steps"]),
    PRECISION: frozenset({*(name for names in _SWITCHES.values() for name in names), *SCALES}),
    "loss_scaling.mode": SCALES,
    "activation_checkpointing": frozenset(_RECOMPUTE),
}
"""Field that says whether a feature is there, and the settings that speak of the feature."""
_REASON = "by its name: the program that reads it was not seen"
_LEAST = 3
_SECTIONS = re.compile(
    r"^(model|network|net|backbone|head|data|dataset|eval|evaluation|test|valid|validation|val"
    r"|loss|metric|inference|infer|export|logging|search|sampler|architecture|batch_?norm)s?$",
    re.IGNORECASE,
)
"""Sections whose entries do not speak of the training step."""

Get = Callable[..., Setting | None]


_COUNTS = frozenset(
    (
        *("n", "num", "number", "no", "of", "every", "freq", "factor"),
        *("step", "steps", "iter", "iters", "batch", "batches", "updates"),
    )
)
_GRADIENTS = frozenset({"grad", "grads", "gradient", "gradients"})
_ACCUMULATES = frozenset({"accum", "accumulate", "accumulation", "accumulated", "accumulating"})
_OF_A_RATE = frozenset({"lr", "learning", "rate", "scheduler", "schedule", "sched", "linear"})


def snake(name: str) -> str:
    """Return the usual name of a setting in lower case with underscores.

    `warmupSteps` is `warmup_steps`, and `n_accum_grads` is `gradient_accumulation_steps`.
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.lstrip("-"))
    plain = spaced.replace("-", "_").lower()
    words = set(plain.split("_"))
    rest = words - _COUNTS
    if rest & _ACCUMULATES and rest <= _ACCUMULATES | _GRADIENTS and len(words) > 1:
        return _FIELDS["accumulation.steps"][0]
    last = plain.rpartition("_")[2]
    if ("warmup" in rest or {"warm", "up"} <= rest) and last not in _OF_A_RATE:
        rest -= {"warmup", "warm", "up", *_OF_A_RATE}
        if not rest:
            return _FIELDS["schedule.warmup_steps"][0]
        if rest <= {"epoch", "epochs"}:
            return _WARMUP_EPOCHS[0]
    return plain


def is_other_section(name: str) -> bool:
    """Tell whether a section of a configuration speaks of something else than training steps."""
    return _SECTIONS.match(name) is not None


def are_usual(names: Iterable[str], *, trains: bool = False) -> bool:
    """Tell whether settings with these names configure a training: a rate and other usual ones.

    Args:
        names: as the source has them.
        trains: whether something else says that it trains; then a rate is one name among others.
    """
    words = {snake(name) for name in names}
    others = (
        {name for path in _FIELDS if path.startswith("schedule") for name in _FIELDS[path]},
        {name for path in _FIELDS if path.startswith("clipping") for name in _FIELDS[path]},
        {"weight_decay", "wd", "momentum", *_FIELDS["optimizer.betas.0"]},
        *map(set, (_CLIPS, OPTIMIZERS, _WARMUP_EPOCHS, _WARMUP_SHARES, _BOUNDARIES, _PRECISIONS)),
        *map(set, (_FIELDS["accumulation.steps"], LENGTHS, _BATCHES, *_SWITCHES.values())),
    )
    rate = bool(words & set(RATES))
    kinds = sum(bool(words & each) for each in others)
    return kinds >= _LEAST if rate else trains and kinds > _LEAST


def tell_usual(writer: SettingWriter, get: Get) -> None:
    """Record what settings say by their names alone.

    Args:
        writer: collects the facts.
        get: returns the first of some settings that is given, by names as `snake` writes them.
    """
    before = len(writer.facts)
    tell_optimizer(writer, _word(get(*OPTIMIZERS)))
    for path, names in _FIELDS.items():
        if path.startswith("optimizer."):
            writer.number(path, _single(get(*names)))
    writer.number("seed", get(*_FIELDS["seed"]))
    writer.number("run.epochs", get(*_EPOCHS))
    _window(writer, get(*_FIELDS["accumulation.steps"]))
    _clip(writer, get)
    _schedule(writer, get)
    _precision(writer, get)
    strategy = get(*STRATEGIES)
    if strategy is not None and (kind := _STRATEGIES.get(strategy.text.lower())):
        writer.tell("parallel.kind", kind, strategy)
    recompute = get(*_RECOMPUTE)
    if recompute is not None and recompute.switch is not None:
        writer.tell("activation_checkpointing", "yes" if recompute.switch else "none", recompute)
    writer.facts[before:] = [_by_name(fact) for fact in writer.facts[before:]]


def _by_name(fact: Fact) -> Fact:
    return replace(fact, confidence="guess", reason=_REASON) if fact.known else fact


def _single(setting: Setting | None) -> Setting | None:
    """Return the setting, unless it is a list, which is a course, or a switch."""
    if setting is None or isinstance(setting.value, tuple):
        return None
    return None if setting.number is None and setting.switch is not None else setting


def _word(setting: Setting | None) -> Setting | None:
    """Return the setting if it is a word: no number, switch or list."""
    if setting is None or not isinstance(setting.value, str) or not setting.text.strip():
        return None
    return setting if setting.number is None and setting.switch is None else None


def _window(writer: SettingWriter, steps: Setting | None) -> None:
    if steps is None or (steps.known and steps.number is None):
        return
    if not steps.known or steps.number:
        writer.number("accumulation.steps", steps)
    else:  # 0 is no length: the program computes it, or leaves it out
        writer.unknown("accumulation.steps", "0 is no number of micro-batches", steps)
    writer.tell("accumulation.present", "yes", steps)


def _clip(writer: SettingWriter, get: Get) -> None:
    norm, value = (get(*_FIELDS[f"clipping.{name}"]) for name in ("max_norm", "max_value"))
    for kind, limit in (("global_norm", norm), ("value", value), ("", get(*_CLIPS))):
        if limit is None or (limit.switch is True and not limit.number):
            continue
        off = limit.known and not limit.number
        if off:
            writer.tell("clipping.kind", "none", limit)
            return
        if kind:
            writer.tell("clipping.kind", kind, limit)
        else:
            writer.unknown("clipping.kind", f"{limit.name} does not say what it limits", limit)
        writer.number("clipping.value", limit)
        return


def _schedule(writer: SettingWriter, get: Get) -> None:
    before = len(writer.facts)
    tell_warmup(writer, get(*_FIELDS["schedule.warmup_steps"]), get(*_WARMUP_SHARES))
    epochs = get(*_WARMUP_EPOCHS)
    if epochs is not None and epochs.number is not None:
        writer.tell("schedule.has_warmup", "yes" if epochs.number else "no", epochs)
        if epochs.number:
            writer.tell("schedule.warmup", f"{epochs.number} epochs", epochs)
    kind, course = _word(get(*SCHEDULES)), get(*_BOUNDARIES)
    bounded = course is not None and isinstance(course.value, tuple)
    if bounded and (kind is None or kind.text.lower() == "step"):
        writer.tell("schedule.name", "multistep", course, kind)
    elif kind is not None:
        decay = tell_decay(writer, kind)
        if decay == "noam" and not any(fact.field == WARMUP for fact in writer.facts):
            writer.tell(WARMUP, "yes", kind)  # it rises to the length of the warm-up, then falls
    counted = next(_counts_steps(get), None)
    window = get(*_FIELDS["accumulation.steps"])
    if counted and writer.facts[before:] and (window is None or window.number == 1):
        writer.tell("schedule.stepped_per", "step", counted, origin="presence")


def _counts_steps(get: Get) -> Iterator[Setting]:
    """Yield settings that count steps of a schedule; with a window, steps may be micro-batches."""
    for names in (_FIELDS["schedule.warmup_steps"], _DECAYS):
        setting = get(*names)
        if setting is None or not _UNIT.search(setting.name):
            continue  # `warmup: 40` may count epochs
        if isinstance(setting.number, int) and setting.number > 0:
            yield setting
    course = get(*_BOUNDARIES)
    steps = course.value if course is not None else None
    counts = steps if isinstance(steps, tuple) else ()
    if course and counts and all(isinstance(n, int) and n > _MOST_EPOCHS for n in counts):
        yield course


def _precision(writer: SettingWriter, get: Get) -> None:
    named = get(*_PRECISIONS)
    policy = get("dtype", "dtype_policy", "policy")  # otherwise of data, or of weights
    if policy is not None and policy.text.lower().startswith("mixed_"):
        named = named or policy
    dtype = None
    if named is not None and named.switch is None:
        dtype = PRECISIONS.get(named.text.lower())
    if named is not None and dtype is not None:
        _tell_type(writer, dtype, named, get)
        if named.text.lower().startswith("mixed_"):  # a policy of Keras
            writer.tell("api", "keras_mp", named, origin="presence")
        return
    for word, names in _SWITCHES.items():
        switch = get(*names)
        if switch is not None and switch.switch is not None:
            _tell_type(writer, word if switch.switch else "float32", switch, get)
            if switch.switch:
                return


def _tell_type(writer: SettingWriter, dtype: str, setting: Setting, get: Get) -> None:
    if dtype == "float32":
        writer.tell("precision.enabled", "never", setting)
        writer.tell("precision.compute_dtype", dtype, setting)
        return
    writer.tell("precision.enabled", "always", setting)
    if not dtype:
        writer.unknown("precision.compute_dtype", f"{setting.name} does not say which", setting)
        return
    writer.tell("precision.compute_dtype", dtype, setting)
    writer.tell("precision.dtypes", dtype, setting)
    scale = get(*_FIXED_SCALES)
    if dtype != "float16":
        return
    if scale is not None and scale.switch is None and (scale.number or 0) > 1:
        writer.tell("loss_scaling.mode", "static", scale, origin="presence")
        writer.number("loss_scaling.scale", scale)
    else:
        writer.unknown("loss_scaling.mode", "the program that reads this decides", setting)
