"""Configurations of PaddleDetection, PaddleClas and their kin, PaddleSeg and PaddleViT."""

from __future__ import annotations

import re

from crosscast.messages.source import Source
from crosscast.readers.config.paddle_detection import tell_detection
from crosscast.readers.config.paddle_words import (
    items_of,
    tell_amp,
    tell_grad_clip,
    tell_length,
    tell_limits,
    tell_moments,
    tell_regularizer,
)
from crosscast.readers.config.yaml_format import YamlFormat
from crosscast.readers.settings import Setting, SettingWriter
from crosscast.readers.tree import Tree
from crosscast.readers.words import tell_decay, tell_numbers, tell_optimizer

_DETECTION = frozenset(
    (
        *("OptimizerBuilder", "LearningRate", "TrainReader", "snapshot_epoch", "TrainDataset"),
        *("log_iter", "save_dir", "EvalReader", "worker_num", "architecture", "weights"),
    )
)
_SEG = frozenset({"train_dataset", "val_dataset", "lr_scheduler", "iters", "optimizer", "loss"})
_PAIR = re.compile(r"[(\[]\s*([\d.eE-]+)\s*,\s*([\d.eE-]+)\s*,?\s*[)\]]")
_VIT = re.compile(
    r"^[ \t]+(NUM_EPOCHS|WARMUP_START_LR|LINEAR_SCALED_LR|ACCUM_ITER|END_LR)[ \t]*:", re.M
)


def _owns(source: Source, keys: frozenset[str]) -> bool:
    if len(keys & _DETECTION) >= 2 and keys & {
        *("OptimizerBuilder", "LearningRate", "TrainReader", "snapshot_epoch"),
    }:
        return True
    if "Global" in keys and keys & {"Optimizer", "AMP", "FP16"}:
        return True
    if len(keys & _SEG) >= 3 and keys & {"train_dataset", "iters"} and "lr_scheduler" in keys:
        return "_component_" not in source.text
    return {"TRAIN", "MODEL"} <= keys and len(set(_VIT.findall(source.text))) >= 2


def _tell(writer: SettingWriter, tree: Tree) -> None:
    writer.tell("framework", "paddle", origin="presence")
    writer.tell("api", "paddle_yaml", origin="presence")
    if tree.get("Global") is not None:
        _clas(writer, tree)
    elif tree.get("TRAIN") is not None:
        _vit(writer, tree)
    elif tree.get("lr_scheduler") is not None and tree.get("OptimizerBuilder") is None:
        _seg(writer, tree)
    else:
        tell_detection(writer, tree)


def _clas(writer: SettingWriter, tree: Tree) -> None:
    amp = tree.get("AMP") or tree.get("FP16")
    general = tree.get("Global") or tree
    switch = None if amp is None else amp.setting("use_amp")
    if amp is not None and amp.keys is not None:
        name = "AMP" if tree.get("AMP") is not None else "FP16"
        on = switch or Setting(name=name, value=True, places=(amp.key or amp.span,))
        scale = amp.setting("scale_loss") or amp.setting("GradScaler", "init_loss_scaling")
        tell_amp(writer, on, scale, amp)
    elif (switch := general.setting("use_amp")) is not None:
        tell_amp(writer, switch, general.setting("scale_loss"), general)
    _tell_frequency(writer, general.setting("update_freq"))
    _tell_parts(writer, general.setting("accum_steps"))
    writer.number("run.epochs", general.setting("epochs") or general.setting("epoch_num"))
    writer.number("seed", general.setting("seed"))
    optimizer = tree.get("Optimizer")
    if optimizer is not None:
        kind = optimizer.setting("name")
        family = tell_optimizer(writer, kind)
        tell_moments(writer, optimizer)
        rate = optimizer.get("lr")
        tell_regularizer(writer, optimizer.get("regularizer"), optimizer, family)
        if rate is not None and rate.keys is not None:
            writer.number("optimizer.learning_rate", rate.setting("learning_rate"))
            _named_schedule(writer, rate)
        limited = tell_grad_clip(writer, optimizer)
        _tell_pair(writer, optimizer.setting("betas"))
        clips = (
            limited or tell_limits(writer, optimizer) or "clip" in " ".join(optimizer.keys or ())
        )
        if not clips and kind is not None:
            writer.tell("clipping.kind", "none", kind, origin="presence")
    writer.number(
        "batch.micro_batch_size", tree.setting("DataLoader", "Train", "sampler", "batch_size")
    )
    if (rate := tree.get("LRScheduler")) is not None and rate.keys is not None:
        writer.number("optimizer.learning_rate", rate.setting("learning_rate"))
        _named_schedule(writer, rate)
    spread = tree.setting("DistributedStrategy", "data_parallel")
    if spread is not None and spread.switch:
        writer.tell("parallel.kind", "paddle_dp", spread)
        writer.by_library("zero_grad.where")
    else:
        writer.by_library("zero_grad.where", "parallel.kind")


def _tell_parts(writer: SettingWriter, setting: Setting | None) -> None:
    """Record into how many parts a batch is cut, whose gradients are added up."""
    if setting is not None and setting.value is not None:
        writer.tell("accumulation.present", "yes", setting)
        writer.number("accumulation.steps", setting)
        writer.by_library("accumulation.loss_divided", "accumulation.no_sync")


def _tell_pair(writer: SettingWriter, setting: Setting | None) -> None:
    """Record betas that a file writes as text: `(0.9, 0.999)`."""
    text = setting.text.strip() if setting is not None else ""
    if setting is not None and (found := _PAIR.fullmatch(text)):
        for index, beta in enumerate(found.groups()):
            one = Setting(name="betas", value=float(beta), places=setting.places)
            writer.number(f"optimizer.betas.{index}", one)


def _tell_frequency(writer: SettingWriter, setting: Setting | None) -> None:
    """Record after how many batches PaddleClas updates the weights."""
    if setting is None or setting.value is None:
        return
    if setting.number == 1:
        writer.tell("accumulation.present", "no", setting)
        return
    writer.tell("accumulation.present", "yes", setting)
    writer.number("accumulation.steps", setting)
    writer.by_library("accumulation.loss_divided", "accumulation.tail", "accumulation.no_sync")


def _named_schedule(writer: SettingWriter, rate: Tree) -> None:
    kind = rate.setting("name")
    if kind is not None and kind.text:
        tell_decay(writer, kind)
        by_epoch, unit = rate.setting("by_epoch"), rate.setting("decay_unit")
        if unit is not None and unit.text in ("step", "epoch"):
            writer.tell("schedule.stepped_per", unit.text, unit)
        elif by_epoch is not None and by_epoch.switch is not None:
            writer.tell("schedule.stepped_per", "epoch" if by_epoch.switch else "step", by_epoch)
        elif by_epoch is None and "constant" not in kind.text.lower():
            writer.tell("schedule.stepped_per", "step", kind, origin="presence")
    tell_length(writer, rate.setting("warmup_epoch") or rate.setting("warmup_epochs"), "epochs")
    tell_length(writer, rate.setting("warmup_steps"), "steps")


def _seg(writer: SettingWriter, tree: Tree) -> None:
    if tree.get("amp") is not None:
        tell_amp(writer, tree.setting("amp"), None, tree)
    elif (amp := tree.get("amp_cfg")) is not None and amp.keys is not None:
        tell_amp(writer, amp.setting("use_amp"), amp.setting("scaler", "init_loss_scaling"), amp)
    optimizer = tree.get("optimizer")
    if optimizer is not None and optimizer.keys is not None:
        family = tell_optimizer(writer, optimizer.setting("type"))
        tell_moments(writer, optimizer)
        tell_regularizer(writer, None, optimizer, family)
        tell_grad_clip(writer, optimizer)
    schedule = tree.get("lr_scheduler")
    if schedule is not None and (inner := schedule.get("learning_rate")) and inner.keys is not None:
        _warmed(writer, schedule, inner)
    elif schedule is not None and schedule.keys is not None:
        writer.number("optimizer.learning_rate", schedule.setting("learning_rate"))
        if (kind := schedule.setting("type")) is not None:
            tell_decay(writer, kind)
            writer.tell("schedule.stepped_per", "step", kind, origin="presence")
        tell_length(writer, schedule.setting("warmup_iters"), "steps")
    writer.number("schedule.total_steps", tree.setting("iters"))
    writer.number("batch.micro_batch_size", tree.setting("batch_size"))
    if (recompute := tree.setting("model", "use_recompute")) is not None and recompute.switch:
        writer.tell("activation_checkpointing", "yes", recompute)
    writer.by_library("zero_grad.where", "parallel.kind")
    if (base := tree.setting("_base_")) is not None:
        writer.mention(base.text)


def _warmed(writer: SettingWriter, schedule: Tree, inner: Tree) -> None:
    """Record a warm-up around another schedule; `learning_rate` is that schedule."""
    writer.number("optimizer.learning_rate", inner.setting("learning_rate"))
    if (kind := inner.setting("type")) is not None:
        tell_decay(writer, kind)
        writer.tell("schedule.stepped_per", "step", kind, origin="presence")
    tell_length(writer, schedule.setting("warmup_steps"), "steps")


def _vit(writer: SettingWriter, tree: Tree) -> None:
    train = tree.get("TRAIN") or tree
    tell_amp(writer, tree.setting("AMP") or train.setting("AMP"), None, None)
    writer.number("optimizer.learning_rate", train.setting("BASE_LR"))
    kind = train.setting("OPTIMIZER", "NAME")
    family = tell_optimizer(writer, kind)
    coupled = family in ("sgd", "adam")
    writer.number(f"optimizer.{'l2' if coupled else 'weight_decay'}", train.setting("WEIGHT_DECAY"))
    optimizer = train.get("OPTIMIZER")
    if optimizer is not None:
        tell_numbers(writer, "paddlevit", optimizer.setting, "optimizer")
        for index, beta in enumerate(items_of(optimizer.get("BETAS"))[:2]):
            writer.number(f"optimizer.betas.{index}", beta.as_setting("BETAS"))
    limit = train.setting("GRAD_CLIP")
    if limit is not None:
        writer.tell("clipping.kind", "global_norm" if limit.number else "none", limit)
        if limit.number:
            writer.number("clipping.value", limit)
    steps = train.setting("ACCUM_ITER")
    if steps is not None:
        writer.number("accumulation.steps", steps)
        writer.tell("accumulation.present", "yes", steps)
    if (schedule := train.setting("LR_SCHEDULER", "NAME")) is not None:
        tell_decay(writer, schedule)
    tell_length(writer, train.setting("WARMUP_EPOCHS"), "epochs")
    writer.number("run.epochs", train.setting("NUM_EPOCHS"))
    writer.number("seed", tree.setting("SEED"))


READER = YamlFormat("paddle_yaml", _owns, _tell)
