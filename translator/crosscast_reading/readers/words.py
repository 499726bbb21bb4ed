"""Names that different tools use for optimizers, schedules and precisions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from crosscast.targets.parameter_words import fields_of
from crosscast_reading.facts.vocabulary import NUMBER, VOCABULARY
from crosscast_reading.readers.schedule_names import decay_of_schedule
from crosscast_reading.readers.settings import Setting, SettingWriter
from crosscast_reading.readers.tree import Tree

_COUPLED = frozenset({"adam", "sgd", "rmsprop", "adagrad"})
"""Families whose `weight_decay` PyTorch adds to the gradient."""
_FAMILIES: tuple[tuple[str, str], ...] = (
    ("adafactor", "adafactor"),
    ("adamw", "adamw"),
    ("decoupledadam", "adamw"),
    ("lamb", "lamb"),
    ("novograd", "novograd"),
    ("radam", "radam"),
    ("rectifiedadam", "radam"),
    ("adagrad", "adagrad"),
    ("adadelta", "adadelta"),
    ("rmsprop", "rmsprop"),
    ("lion", "lion"),
    ("lars", "lars"),
    ("ftrl", "ftrl"),
    ("adam", "adam"),
    ("momentum", "sgd"),
    ("nesterov", "sgd"),
    ("gradientdescent", "sgd"),
    ("sgd", "sgd"),
)
_OTHERS = (
    "adamax",
    "nadam",
    "adabound",
    "adan",
    "adabelief",
    "sophia",
    "qhadam",
    "muon",
    "sharded",
)
"""Optimizers with these names belong to no family of the vocabulary."""

_BY_ARGUMENTS = frozenset({"LambdaLR", "SequentialLR", "ChainedScheduler"})
"""Schedules of PyTorch that get their course by arguments."""

TYPES: dict[str, str] = {
    **dict.fromkeys(("float16", "fp16", "half", "f16", "16"), "float16"),
    **dict.fromkeys(("bfloat16", "bf16"), "bfloat16"),
    **dict.fromkeys(("float32", "fp32", "float", "32", "no", "none", "single"), "float32"),
    **dict.fromkeys(("fp8", "float8_e4m3fn", "float8_e5m2"), "fp8"),
}
"""Names of types, and what recipes and facts call these."""

PRECISIONS: dict[str, str] = {
    **TYPES,
    **dict.fromkeys(("16-mixed", "16-true", "amp", "amp_fp16", "mixed_float16"), "float16"),
    **dict.fromkeys(("bf16-mixed", "bf16-true", "amp_bf16", "amp_bfloat16"), "bfloat16"),
    "32-true": "float32",
    "mixed_bfloat16": "bfloat16",
    "amp_fp8": "fp8",
}
"""Names of precisions, and the type in which each computes."""


def family_of(name: str, *, relatives: bool = False) -> str:
    """Return the family of an optimizer by the name that a tool gives it, empty if unknown.

    Args:
        name: as a source writes it.
        relatives: whether Adamax and others of `_OTHERS` count to the family that they come from.
    """
    word = re.sub(r"[^a-z0-9]", "", name.rpartition(".")[2].lower())
    if not relatives and any(other in word for other in _OTHERS):
        return ""
    return next((family for part, family in _FAMILIES if part in word), "")


def tell_optimizer(writer: SettingWriter, setting: Setting | None) -> str:
    """Record which optimizer a setting names, and return its family."""
    if setting is None or not setting.text:
        return ""
    name = setting.text
    writer.tell("optimizer.source_name", name.rpartition(".")[2], setting)
    if family := family_of(name):
        writer.tell("optimizer.name", family, setting)
    return family


def tell_precision(
    writer: SettingWriter, setting: Setting, *, full: bool = False, scaled_by: str = "library"
) -> str:
    """Record a named precision, and return its type; empty if unknown.

    Args:
        writer: collects the facts.
        setting: `fp16`, `bf16-true`, `no`.
        full: whether the tool means half weights by it, not mixed precision.
        scaled_by: the mode of loss scaling that comes with mixed float16.
    """
    if not setting.known:
        writer.unknown("precision.compute_dtype", setting.reason, setting, text=setting.text)
        return ""
    word = setting.text.strip().lower() if setting.value is not None else "no"
    if word in ("false", "off", ""):
        word = "no"
    if word not in PRECISIONS:
        reason = f"{setting.name} is {word!r}"
        writer.unknown("precision.compute_dtype", reason, setting, text=word)
        return ""
    dtype = PRECISIONS[word]
    if dtype == "float32":
        writer.tell("precision.enabled", "never", setting)
        writer.tell("precision.compute_dtype", dtype, setting)
        writer.tell("loss_scaling.mode", "none", setting, origin="presence")
        return dtype
    mode = "full" if full else mode_of(word)
    writer.tell("precision.enabled", "always", setting)
    writer.tell("precision.dtypes", dtype, setting)
    writer.tell("precision.compute_dtype", dtype, setting)
    writer.tell("precision.mode", mode, setting)
    scaled = dtype == "float16" and mode == "mixed"
    writer.tell("loss_scaling.mode", scaled_by if scaled else "none", setting, origin="presence")
    if scaled:
        writer.by_library("scaler_update.status")
    return dtype


def mode_of(word: str) -> str:
    """Return the mode that a word for a precision below float32 means: `16-true` is full."""
    return "full" if word.endswith("-true") else "mixed"


def tell_window(writer: SettingWriter, steps: Setting | None, *, divided: str = "library") -> None:
    """Record the number of accumulated micro-batches, if set."""
    if (steps := first_given(steps)) is None:
        return
    if steps.text == "auto":
        writer.unknown("accumulation.steps", "auto: set by another file or program", steps)
    else:
        writer.number("accumulation.steps", steps)
    writer.tell("accumulation.present", "yes", steps)
    writer.tell("accumulation.loss_divided", divided, steps, origin="presence")
    writer.by_library("accumulation.tail", "accumulation.no_sync")


def tell_schedule(
    writer: SettingWriter, kind: Setting | None, own: Mapping[str, str] | None = None
) -> None:
    """Record the schedule that a setting names, if it is set, which moves at every update."""
    if (kind := first_given(kind)) is not None:
        tell_decay(writer, kind, own)
        writer.tell("schedule.stepped_per", "step", kind, origin="presence")


def tell_backend(writer: SettingWriter, setting: Setting | None) -> None:
    """Record the library through which processes talk."""
    if setting is not None and setting.text in ("nccl", "mpi", "gloo"):
        writer.tell("parallel.backend", setting.text, setting)


def tell_decay(writer: SettingWriter, kind: Setting, own: Mapping[str, str] | None = None) -> str:
    """Record the schedule that a setting names, and return it; empty if unknown.

    Args:
        writer: collects the facts.
        kind: the setting that names the schedule.
        own: names that mean something else in a tool than everywhere.
    """
    decay = (own or {}).get(kind.text) or decay_of_schedule(kind.text)
    if decay:
        writer.tell("schedule.name", decay, kind)
    else:
        reason = f"a schedule called {kind.text!r}"
        if kind.text.rpartition(".")[2] in _BY_ARGUMENTS:
            reason = "its arguments decide about the schedule"
        writer.unknown("schedule.name", kind.reason or reason, kind)
    return decay


def numbers_of(
    library: str, get: Callable[[str], Setting | None], *sections: str, coupled: bool = False
) -> Iterator[tuple[str, Setting | None]]:
    """Yield the numbers in a library's parameters: field of the fact, setting.

    Of several parameters of one field, the first that is set gives it.

    Args:
        library: name in `crosscast.targets.parameter_words`.
        get: returns the setting of a parameter.
        sections: sections of the recipe that they belong to.
        coupled: whether the optimizer adds its decay to the gradient.
    """
    for path, names in fields_of(library, *sections).items():
        field = "optimizer.l2" if coupled and path == "optimizer.weight_decay" else path
        if field in VOCABULARY and VOCABULARY[field].values == NUMBER:
            yield field, _first(get, names)


def setting_of(library: str, field: str, get: Callable[[str], Setting | None]) -> Setting | None:
    """Return the first setting that gives a field of a recipe by a library's parameters."""
    return _first(get, fields_of(library)[field])


def _first(get: Callable[[str], Setting | None], names: Iterable[str]) -> Setting | None:
    return next((setting for name in names if (setting := get(name)) is not None), None)


def tell_numbers(
    writer: SettingWriter,
    library: str,
    get: Callable[[str], Setting | None],
    *sections: str,
    coupled: bool = False,
) -> None:
    """Record the numbers and Nesterov momentum in a library's parameters (see `numbers_of`)."""
    for field, setting in numbers_of(library, get, *sections, coupled=coupled):
        writer.number(field, setting)
    if "optimizer" in sections:
        tell_nesterov(writer, library, get)


def tell_nesterov(
    writer: SettingWriter, library: str, get: Callable[[str], Setting | None]
) -> None:
    """Record whether the momentum is Nesterov's, if a parameter of the library sets it."""
    setting = _first(get, fields_of(library).get("optimizer.nesterov", ()))
    if setting is not None and setting.switch is not None:
        writer.tell("optimizer.nesterov", "yes" if setting.switch else "no", setting)


def tell_torch_class(writer: SettingWriter, kind: Setting | None, arguments: Tree) -> None:
    """Record the facts of a PyTorch optimizer class and its arguments."""
    coupled = tell_optimizer(writer, kind) in _COUPLED
    tell_numbers(writer, "torch", arguments.setting, "optimizer", coupled=coupled)
    tell_betas(writer, arguments)


def tell_betas(writer: SettingWriter, section: Tree) -> None:
    """Record both decays of the list `betas`."""
    betas = section.section("betas")
    for index in range(2):
        decay = betas.get(index)
        if decay is not None:
            decay.key = decay.key or betas.key
            writer.number(f"optimizer.betas.{index}", decay.as_setting("betas"))


def is_no_limit(limit: Setting) -> bool:
    """Return whether a limit of gradients says that they are not clipped: 0, null."""
    return limit.known and (limit.value in (None, False) or limit.number == 0)


def tell_clip(writer: SettingWriter, limit: Setting | None, *, unscaled: str = "library") -> bool:
    """Record clipping by the global norm; 0 and null disable it."""
    if limit is None:
        return False
    if is_no_limit(limit):
        writer.tell("clipping.kind", "none", limit)
        return True
    writer.tell("clipping.kind", "global_norm", limit)
    writer.number("clipping.value", limit)
    writer.tell("clipping.per", "step", limit, origin="presence")
    writer.tell("clipping.unscaled_first", unscaled, limit, origin="presence")
    return True


def tell_warmup(writer: SettingWriter, steps: Setting | None, ratio: Setting | None = None) -> None:
    """Record the length of the warm-up: a number of updates, or a share of all updates."""
    lengths = (each for each in (steps, ratio) if each is not None and each.number != 0)
    if (setting := first_given(*lengths, steps, ratio)) is None:
        return
    value = setting.number
    if value is None and setting.switch is False:
        writer.tell("schedule.has_warmup", "no", setting)
        return
    if value is None:
        writer.unknown("schedule.warmup", setting.reason or "no number", setting)
    else:
        share = setting is ratio or 0 < value < 1
        writer.tell("schedule.warmup", f"{value} of all" if share else f"{value} steps", setting)
    writer.tell("schedule.has_warmup", "no" if value == 0 else "yes", setting)


def product_of(*factors: Setting | None) -> int | None:
    """Return the product of the factors that are set, None if one is no whole number above 0."""
    product = 1
    for factor in factors:
        number = 1 if factor is None else factor.number
        if not isinstance(number, int) or number < 1:
            return None
        product *= number
    return product


def first_given(*settings: Setting | None) -> Setting | None:
    """Return the first setting that says something: it is there, and neither null nor empty."""
    there = (setting for setting in settings if setting is not None)
    return next((each for each in there if not each.known or each.value not in (None, "")), None)


def no_auto(setting: Setting | None) -> Setting | None:
    """Return the setting, None where it says `auto`."""
    return None if setting is None or setting.text == "auto" else setting


def positive(setting: Setting | None) -> Setting | None:
    """Return the setting, None where it is no number above 0."""
    return setting if setting is not None and (setting.number or 0) > 0 else None
