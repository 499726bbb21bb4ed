"""Configurations of Composer and of trainers built on it: durations with units, `amp_bf16`."""

from __future__ import annotations

import re

from crosscast.messages.source import Source
from crosscast.readers.config.yaml_format import YamlFormat
from crosscast.readers.settings import Setting, SettingWriter
from crosscast.readers.tree import Tree
from crosscast.readers.words import (
    tell_betas,
    tell_decay,
    tell_numbers,
    tell_optimizer,
    tell_precision,
)

_DURATION = re.compile(
    r"^\s*max_duration\s*:\s*[\"']?[\d_.]+(e\d+)?(ba|ep|tok|sp|dur|iter)\b", re.M
)
_AMP = re.compile(r"^\s*precision\s*:\s*[\"']?(amp_\w+|fp32)\b", re.M)
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
    if len(keys & _KNOWN) < 2 and "trainer" not in keys:
        return False
    return bool(_DURATION.search(source.text)) and (
        bool(_AMP.search(source.text)) or len(keys & _KNOWN) >= 3
    )


def _tell(writer: SettingWriter, tree: Tree) -> None:
    trainer = tree.get("trainer") or tree

    def get(name: str) -> Setting | None:
        return trainer.setting(name) or tree.setting(name)

    writer.tell("framework", "pytorch", origin="presence")
    writer.tell("api", "composer", get("max_duration"), origin="presence")
    if (precision := get("precision")) is not None:
        tell_precision(writer, precision)
    _batch(writer, get("global_train_batch_size"), get("device_train_microbatch_size"))
    if (steps := get("grad_accum") or get("device_train_grad_accum")) is not None:
        writer.number("accumulation.steps", steps)
        writer.tell("accumulation.present", "yes", steps)
    _clip(writer, tree, trainer)
    _optimizer(writer, tree, trainer)
    _schedule(writer, tree, trainer)
    tell_numbers(writer, "composer", get, "seed", "data")
    _length(writer, get("max_duration"))
    sharded = tree.get("fsdp_config") or trainer.get("fsdp_config")
    if sharded is not None and sharded.keys:
        writer.tell("parallel.kind", "fsdp", sharded.as_setting("fsdp_config"))
        recompute = sharded.setting("activation_checkpointing")
        if recompute is not None and recompute.switch is not None:
            word = "yes" if recompute.switch else "none"
            writer.tell("activation_checkpointing", word, recompute)
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


def _section(tree: Tree, trainer: Tree, *names: str) -> Tree | None:
    return next((f for t in (trainer, tree) for n in names if (f := t.get(n)) and f.keys), None)


def _clip(writer: SettingWriter, tree: Tree, trainer: Tree) -> None:
    algorithms = _section(tree, trainer, "algorithms")
    clip = None if algorithms is None else algorithms.get("gradient_clipping")
    if clip is not None and clip.keys is not None:
        kind = clip.setting("clipping_type")
        word = {"norm": "global_norm", "value": "value", "adaptive": "layerwise"}
        writer.tell(
            "clipping.kind", word.get("norm" if kind is None else kind.text, "selectable"), kind
        )
        writer.number("clipping.value", clip.setting("clipping_threshold"))
        writer.by_library("clipping.per", "clipping.unscaled_first")
    elif (limit := trainer.setting("grad_clip_norm") or tree.setting("grad_clip_norm")) is not None:
        positive = (limit.number or 0) > 0
        writer.tell("clipping.kind", "global_norm" if positive else "none", limit)
        if positive:
            writer.number("clipping.value", limit)


def _optimizer(writer: SettingWriter, tree: Tree, trainer: Tree) -> None:
    section = _section(tree, trainer, "optimizer", "optimizers")
    if section is None or section.keys is None:
        return
    named = section.setting("name")
    if named is None:  # yahp's form: the name is the key
        name, inner = next(iter(section.keys.items()))
        if inner.keys is None:
            return
        named = Setting(name=name, value=name, places=(inner.key,) if inner.key else ())
        section = inner
    family = tell_optimizer(writer, named)
    coupled = family in ("adam", "sgd")
    tell_numbers(writer, "composer", section.setting, "optimizer", coupled=coupled)
    tell_betas(writer, section)


def _schedule(writer: SettingWriter, tree: Tree, trainer: Tree) -> None:
    section = _section(tree, trainer, "scheduler", "schedulers")
    if section is None or section.keys is None:
        return
    kind = section.setting("name")
    if kind is None:
        name, inner = next(iter(section.keys.items()))
        kind = Setting(name=name, value=name, places=(inner.key,) if inner.key else ())
        section = inner if inner.keys is not None else section
    tell_decay(writer, kind)
    warmup = section.setting("t_warmup")
    if warmup is not None and (found := _TIME.fullmatch(warmup.text)):
        writer.tell("schedule.warmup", f"{found[1]} {_UNITS.get(found[2], found[2])}", warmup)
        writer.tell("schedule.has_warmup", "no" if float(found[1]) == 0 else "yes", warmup)
    writer.by_library("schedule.stepped_per", "schedule.on_skip")


def _length(writer: SettingWriter, duration: Setting | None) -> None:
    found = _TIME.fullmatch(duration.text) if duration is not None else None
    if found and duration is not None and found[2] in ("ba", "ep"):
        field = "schedule.total_steps" if found[2] == "ba" else "run.epochs"
        writer.tell(field, int(float(found[1].replace("_", ""))), duration)


READER = YamlFormat("composer_yaml", _owns, _tell, loader="numbers", references=True)
