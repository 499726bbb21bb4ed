"""Configurations of PaddleDetection, PaddleClas and kin, PaddleSeg, PaddleViT, PaddleVideo."""

from __future__ import annotations

import re

from crosscast.messages.source import Source
from crosscast_paddle.reading.paddle_video import is_video, tell_video
from crosscast_reading.readers.config.paddle_words import (
    items_of,
    tell_amp,
    tell_grad_clip,
    tell_length,
    tell_limits,
    tell_moments,
    tell_regularizer,
)
from crosscast_reading.readers.config.yaml_format import YamlFormat
from crosscast_reading.readers.settings import Setting, SettingWriter
from crosscast_reading.readers.tree import Tree
from crosscast_reading.readers.words import (
    first_given,
    tell_decay,
    tell_numbers,
    tell_optimizer,
    tell_schedule,
)

_DETECTION = frozenset(
    (
        *("OptimizerBuilder", "LearningRate", "TrainReader", "snapshot_epoch", "TrainDataset"),
        *("log_iter", "save_dir", "EvalReader", "worker_num", "architecture", "weights"),
    )
)
_SEG = frozenset({"train_dataset", "val_dataset", "lr_scheduler", "iters", "optimizer", "loss"})
_PAIR = re.compile(r"[(\[]\s*([\d.eE-]+)\s*,\s*([\d.eE-]+)\s*+,?\s*+[)\]]")
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
    if is_video(source.text, keys):
        return True
    return {"TRAIN", "MODEL"} <= keys and len(set(_VIT.findall(source.text))) >= 2


def _tell(writer: SettingWriter, tree: Tree) -> None:
    writer.tell("framework", "paddle", origin="presence")
    writer.tell("api", "paddle_yaml", origin="presence")
    if tree.get("Global") is not None:
        _clas(writer, tree)
    elif tree.get("OPTIMIZER") is not None:
        tell_video(writer, tree)
    elif tree.get("TRAIN") is not None:
        _vit(writer, tree)
    elif tree.get("lr_scheduler") is not None:
        _seg(writer, tree)
    else:
        _tell_detection(writer, tree)


def _clas(writer: SettingWriter, tree: Tree) -> None:
    general = tree.section("Global")
    name = next((n for n in ("AMP", "FP16") if tree.section(n).keys is not None), "")
    if name:
        amp = tree.section(name)
        whole = Setting(name=name, value=True, places=amp.as_setting(name).places[:1])
        scale = amp.setting("scale_loss") or amp.setting("GradScaler", "init_loss_scaling")
        tell_amp(writer, amp.setting("use_amp") or whole, scale, amp)
    else:
        tell_amp(writer, general.setting("use_amp"), general.setting("scale_loss"), general)
    _tell_frequency(writer, general.setting("update_freq"))
    _tell_parts(writer, general.setting("accum_steps"))
    writer.number("run.epochs", general.setting("epochs") or general.setting("epoch_num"))
    writer.number("seed", general.setting("seed"))
    optimizer = tree.section("Optimizer")
    kind = optimizer.setting("name")
    family = tell_optimizer(writer, kind)
    tell_moments(writer, optimizer)
    tell_regularizer(writer, optimizer.section("regularizer"), optimizer, family)
    if not tell_grad_clip(writer, optimizer):
        tell_limits(writer, optimizer)
    if kind is not None and "clip" not in " ".join(optimizer.names()):
        writer.tell("clipping.kind", "none", kind, origin="presence")
    _tell_pair(writer, optimizer.section("betas").as_setting("betas"))
    rate = optimizer.section("lr")
    rate = tree.section("LRScheduler") if rate.keys is None else rate
    writer.number("optimizer.learning_rate", rate.setting("learning_rate"))
    _named_schedule(writer, rate)
    rows = tree.setting("DataLoader", "Train", "sampler", "batch_size")
    writer.number("batch.micro_batch_size", rows)
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


def _tell_pair(writer: SettingWriter, both: Setting) -> None:
    """Record betas that a file writes as text: `(0.9, 0.999)`."""
    if match := _PAIR.fullmatch(both.text.strip()):
        for index, beta in enumerate(match.groups()):
            one = Setting(name="betas", value=float(beta), places=both.places)
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
    kind = first_given(rate.setting("name"))
    if kind is not None:
        tell_decay(writer, kind)
        by_epoch, unit = rate.setting("by_epoch"), rate.setting("decay_unit")
        if unit is not None and unit.text in ("step", "epoch"):
            writer.tell("schedule.stepped_per", unit.text, unit)
        elif by_epoch is None:
            writer.tell("schedule.stepped_per", "step", kind, origin="presence")
        else:
            writer.switch("schedule.stepped_per", by_epoch, "epoch", "step")
    tell_length(writer, *map(rate.setting, ("warmup_epoch", "warmup_epochs", "warmup_steps")))


def _seg(writer: SettingWriter, tree: Tree) -> None:
    if tree.get("amp") is not None:
        tell_amp(writer, tree.setting("amp"), None, tree)
    else:
        amp = tree.section("amp_cfg")
        tell_amp(writer, amp.setting("use_amp"), amp.setting("scaler", "init_loss_scaling"), amp)
    optimizer = tree.section("optimizer")
    family = tell_optimizer(writer, optimizer.setting("type"))
    tell_moments(writer, optimizer)
    tell_regularizer(writer, Tree(tree.span), optimizer, family)
    tell_grad_clip(writer, optimizer)
    schedule = tree.section("lr_scheduler")
    inner = schedule.section("learning_rate")  # of a warm-up around another schedule
    decay = schedule if inner.keys is None else inner
    writer.number("optimizer.learning_rate", decay.setting("learning_rate"))
    tell_schedule(writer, decay.setting("type"))
    tell_length(writer, *map(schedule.setting, ("warmup_steps", "warmup_iters")))
    writer.number("schedule.total_steps", tree.setting("iters"))
    writer.number("batch.micro_batch_size", tree.setting("batch_size"))
    if (recompute := tree.setting("model", "use_recompute")) is not None and recompute.switch:
        writer.tell("activation_checkpointing", "yes", recompute)
    writer.by_library("zero_grad.where", "parallel.kind")
    writer.mention(tree.section("_base_").text)


def _vit(writer: SettingWriter, tree: Tree) -> None:
    train = tree.section("TRAIN")
    place = train if tree.get("AMP") is None else tree
    tell_amp(writer, place.setting("AMP"), None, place)
    writer.number("optimizer.learning_rate", train.setting("BASE_LR"))
    optimizer = train.section("OPTIMIZER")
    family = tell_optimizer(writer, optimizer.setting("NAME"))
    coupled = family in ("sgd", "adam")
    writer.number(f"optimizer.{'l2' if coupled else 'weight_decay'}", train.setting("WEIGHT_DECAY"))
    tell_numbers(writer, "paddlevit", optimizer.setting, "optimizer")
    for index, beta in enumerate(items_of(optimizer.get("BETAS"))[:2]):
        writer.number(f"optimizer.betas.{index}", beta.as_setting("BETAS"))
    limit = train.setting("GRAD_CLIP")
    if limit is not None:
        writer.tell("clipping.kind", "global_norm" if limit.number else "none", limit)
        writer.number("clipping.value", limit if limit.number else None)
    if (steps := train.setting("ACCUM_ITER")) is not None:
        writer.number("accumulation.steps", steps)
        writer.tell("accumulation.present", "yes", steps)
    if (schedule := first_given(train.setting("LR_SCHEDULER", "NAME"))) is not None:
        tell_decay(writer, schedule)
    tell_length(writer, train.setting("WARMUP_EPOCHS"))
    writer.number("run.epochs", train.setting("NUM_EPOCHS"))
    writer.number("seed", tree.setting("SEED"))


def _tell_detection(writer: SettingWriter, tree: Tree) -> None:
    """Record the facts of a configuration; settings it omits are inherited from its bases."""
    amp = tree.setting("amp") or tree.setting("fp16") or tree.setting("use_fp16")
    tell_amp(writer, amp, tree.setting("init_loss_scaling"), tree)
    for base in items_of(tree.get("_BASE_")):
        writer.mention(base.text)
    if amp is None:
        writer.tell("precision.enabled", "inherit", origin="presence", confidence="likely")
        writer.tell("precision.compute_dtype", "inherit", origin="presence", confidence="likely")
    writer.tell("zero_grad.where", "inherit", origin="presence")
    writer.tell("parallel.kind", "inherit", origin="presence")
    writer.number("run.epochs", tree.setting("epoch"))
    writer.number("batch.micro_batch_size", tree.setting("TrainReader", "batch_size"))
    ema = tree.setting("use_ema")
    if ema is not None and ema.switch:
        writer.number("ema.decay", tree.setting("ema_decay"))
    builder = tree.section("OptimizerBuilder")
    tell_limits(writer, builder)
    optimizer = builder.section("optimizer")
    family = tell_optimizer(writer, optimizer.setting("type"))
    tell_moments(writer, optimizer)
    tell_regularizer(writer, builder.section("regularizer"), optimizer, family)
    rate = tree.section("LearningRate")
    writer.number("optimizer.learning_rate", rate.setting("base_lr"))
    _schedulers(writer, rate)


def _schedulers(writer: SettingWriter, rate: Tree) -> None:
    """Record the list of schedulers; a tag or `name` gives the type."""
    for scheduler in items_of(rate.get("schedulers")):
        word = scheduler.tag.lstrip("!") or scheduler.section("name").text
        place = Setting(name="schedulers", value=word, places=(scheduler.span,))
        if "warmup" in word.lower():
            tell_length(writer, scheduler.setting("steps"), scheduler.setting("epochs"))
            continue
        if not word:
            continue
        if {factor.value for factor in items_of(scheduler.get("gamma"))} == {1}:
            writer.tell("schedule.name", "constant", place, scheduler.setting("gamma"))
        else:
            tell_decay(writer, place)
        writer.tell("schedule.stepped_per", "step", place, origin="presence")


READER = YamlFormat("paddle_yaml", _owns, _tell)
