"""Configurations of Composer and of trainers built on it: durations with units, `amp_bf16`."""

from __future__ import annotations

import re

from crosscast.messages.source import Source
from crosscast_reading.readers.config.yaml_format import YamlFormat
from crosscast_reading.readers.settings import Setting, SettingWriter
from crosscast_reading.readers.tree import Tree
from crosscast_reading.readers.words import (
    first_given,
    positive,
    tell_betas,
    tell_decay,
    tell_numbers,
    tell_optimizer,
    tell_precision,
)

_DURATION = re.compile(
    r"^[ \t]*max_duration[ \t]*:\s*[\"']?[\d_.]+(e\d+)?(ba|ep|tok|sp|dur|iter)\b", re.M
)
_KNOWN = frozenset(
    (
        *("device_train_microbatch_size", "global_train_batch_size", "device_train_grad_accum"),
        *("precision", "algorithms", "fsdp_config", "train_loader", "trainer", "eval_interval"),
        *("grad_accum", "optimizers", "schedulers", "save_interval"),
    )
)
_TIME = re.compile(r"([\d_.]+(?:e\d+)?)(ba|ep|tok|sp|dur|iter)")
_UNITS = {"ba": "steps", "ep": "epochs", "tok": "tokens", "sp": "samples", "dur": "of all"}


def _owns(source: Source, keys: frozenset[str]) -> bool:
    return bool(keys & _KNOWN) and bool(_DURATION.search(source.text))


def _tell(writer: SettingWriter, tree: Tree) -> None:
    trainer = tree.section("trainer")

    def get(name: str) -> Setting | None:
        return trainer.setting(name) or tree.setting(name)

    def section(*names: str) -> Tree:
        sections = (f for t in (trainer, tree) for n in names if (f := t.section(n)).keys)
        return next(sections, Tree(tree.span))

    writer.tell("framework", "pytorch", origin="presence")
    writer.tell("api", "composer", get("max_duration"), origin="presence")
    if (precision := get("precision")) is not None:
        tell_precision(writer, precision)
    if (steps := first_given(get("grad_accum"), get("device_train_grad_accum"))) is None:
        _batch(writer, get("global_train_batch_size"), get("device_train_microbatch_size"))
    else:
        writer.number("batch.global_batch_size", get("global_train_batch_size"))
        writer.number("accumulation.steps", steps)
        writer.tell("accumulation.present", "yes", steps)
    _clip(writer, section("algorithms"), get("grad_clip_norm"))
    _optimizer(writer, section("optimizer", "optimizers"))
    _schedule(writer, section("scheduler", "schedulers"))
    tell_numbers(writer, "composer", get, "seed", "data")
    _length(writer, get("max_duration"))
    sharded = section("fsdp_config")
    if sharded.keys:
        writer.tell("parallel.kind", "fsdp", sharded.as_setting("fsdp_config"))
        recompute = sharded.setting("activation_checkpointing")
        writer.switch("activation_checkpointing", recompute, off="none")
    else:
        writer.by_library("parallel.kind")
    writer.by_library("zero_grad.where")


def _batch(writer: SettingWriter, whole: Setting | None, micro: Setting | None) -> None:
    writer.number("batch.global_batch_size", whole)
    if micro is None or whole is None:
        return
    writer.tell("accumulation.present", "yes", micro)
    writer.by_library("accumulation.loss_divided", "accumulation.tail", "accumulation.no_sync")
    if micro.text == "auto":
        writer.unknown("accumulation.steps", "auto: determined at run time", micro, text="auto")
        return
    writer.number("batch.micro_batch_size", micro)
    reason = "the number of processes is not in this file"
    formula = f"{whole.name} / ({micro.name} * processes)"
    writer.unknown("accumulation.steps", reason, whole, micro, text=formula)


def _clip(writer: SettingWriter, algorithms: Tree, limit: Setting | None) -> None:
    clip = algorithms.section("gradient_clipping")
    if clip.keys is not None:
        kind = clip.setting("clipping_type")
        word = {"norm": "global_norm", "value": "value", "adaptive": "layerwise"}
        writer.tell(
            "clipping.kind", word.get("norm" if kind is None else kind.text, "selectable"), kind
        )
        writer.number("clipping.value", clip.setting("clipping_threshold"))
        writer.by_library("clipping.per", "clipping.unscaled_first")
    elif limit is not None:
        above = positive(limit)
        writer.tell("clipping.kind", "none" if above is None else "global_norm", limit)
        writer.number("clipping.value", above)


def _named(section: Tree) -> tuple[Setting | None, Tree]:
    """Return the name of what a section makes, and its arguments; in yahp's form it is the key."""
    inner = {name: tree for name, tree in (section.keys or {}).items() if not tree.text}
    if "name" in section.names() or not inner:
        return section.setting("name"), section
    name, arguments = next(iter(inner.items()))
    places = arguments.as_setting(name).places[:1]
    return Setting(name=name, value=name, places=places), arguments


def _optimizer(writer: SettingWriter, section: Tree) -> None:
    named, arguments = _named(section)
    coupled = tell_optimizer(writer, named) in ("adam", "sgd")
    tell_numbers(writer, "composer", arguments.setting, "optimizer", coupled=coupled)
    tell_betas(writer, arguments)


def _schedule(writer: SettingWriter, section: Tree) -> None:
    kind, arguments = _named(section)
    if (kind := first_given(kind)) is None:
        return
    tell_decay(writer, kind)
    warmup = arguments.section("t_warmup").as_setting("t_warmup")
    if match := _TIME.fullmatch(warmup.text):
        writer.tell("schedule.warmup", f"{match[1]} {_UNITS.get(match[2], match[2])}", warmup)
        writer.tell("schedule.has_warmup", "no" if float(match[1]) == 0 else "yes", warmup)
    writer.by_library("schedule.stepped_per", "schedule.on_skip")


def _length(writer: SettingWriter, duration: Setting | None) -> None:
    match = _TIME.fullmatch("" if duration is None else duration.text)
    fields = {"ba": "schedule.total_steps", "ep": "run.epochs"}
    if match and (field := fields.get(match[2])):
        writer.tell(field, int(float(match[1].replace("_", ""))), duration)


READER = YamlFormat("composer_yaml", _owns, _tell, loader="numbers", references=True)
