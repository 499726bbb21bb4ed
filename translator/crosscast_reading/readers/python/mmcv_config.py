"""Configurations of MMCV 1: `optimizer_config`, `lr_config`, `fp16`."""

from __future__ import annotations

from crosscast.targets.library_defaults import LIBRARY_DEFAULTS
from crosscast_reading.readers.python.mm_sections import (
    tell_checkpointing,
    tell_clip_grad,
    tell_groups,
    tell_scale,
    tell_typed_optimizer,
)
from crosscast_reading.readers.python.optimizers import role
from crosscast_reading.readers.schedule_names import decay_of_schedule
from crosscast_reading.readers.settings import Setting, SettingWriter
from crosscast_reading.readers.tree import Tree
from crosscast_reading.readers.words import tell_window

_HOOK = next(d for d in LIBRARY_DEFAULTS if d.api == "mmcv.runner.Fp16OptimizerHook")


def tell_mmcv(writer: SettingWriter, tree: Tree) -> None:
    """Record the facts of the dictionaries of a configuration."""
    hook = tree.section("optimizer_config")
    writer.tell("framework", "pytorch", origin="presence")
    writer.tell("api", "mmcv1", origin="presence")
    _precision(writer, tree, hook)
    tell_window(writer, hook.setting("cumulative_iters") or hook.setting("update_interval"))
    tell_clip_grad(writer, hook.get("grad_clip"))
    _optimizers(writer, tree.section("optimizer"))
    tell_groups(writer, tree.section("optimizer", "paramwise_cfg"))
    _schedule(writer, tree.section("lr_config"))
    runner = tree.get("runner") or tree
    writer.number("run.epochs", runner.setting("max_epochs") or tree.setting("total_epochs"))
    writer.number(
        "schedule.total_steps", runner.setting("max_iters") or tree.setting("total_iters")
    )
    writer.number("batch.micro_batch_size", tree.setting("data", "samples_per_gpu"))
    writer.number("seed", tree.setting("seed"))
    writer.by_library("zero_grad.where", "parallel.kind")
    tell_checkpointing(writer, tree)


def _optimizers(writer: SettingWriter, optimizer: Tree) -> None:
    """Record the optimizer, or one per part of a model: `dict(generator=dict(type=...))`."""
    tell_typed_optimizer(writer, optimizer)
    subject = writer.subject
    for name, section in (optimizer.keys or {}).items():
        if section.get("type") is not None:
            writer.subject = name
            tell_typed_optimizer(writer, section)
            if part := role(name.rstrip("s")):
                writer.tell("optimizer.role", part, section.setting("type"), origin="presence")
    writer.subject = subject


def _precision(writer: SettingWriter, tree: Tree, hook: Tree) -> None:
    fp16, apex = tree.section("fp16"), hook.setting("use_fp16")
    half = fp16.keys is not None or fp16.value is True
    by_hook = "Fp16" in hook.section("type").text
    if hook.section("use_fp16").value is True:
        writer.tell("api", "apex_amp", apex)
        writer.tell("precision.enabled", "always", apex)
        writer.tell("precision.dtypes", "float16", apex)
        writer.tell("precision.compute_dtype", "float16", apex)
        # The runner calls `amp.initialize` without a scale, which means a dynamic one.
        writer.tell("loss_scaling.mode", "framework_default", apex, origin="presence")
        writer.by_library("scaler_update.status")
        return
    if not half and not by_hook:
        if tree.get("_base_") is not None:
            writer.tell("precision.enabled", "inherit", origin="presence", confidence="likely")
        else:
            writer.default("precision.enabled", "never")
            writer.default("precision.compute_dtype", "float32")
            writer.tell("loss_scaling.mode", "none", origin="presence")
        return
    setting = tree.setting("fp16") if half else hook.setting("type")
    writer.tell("precision.enabled", "always", setting)
    writer.tell("precision.dtypes", "float16", setting)
    writer.tell("precision.compute_dtype", "float16", setting)
    writer.tell("precision.mode", "mixed", setting, origin="presence")
    writer.by_library("scaler_update.status")
    scale = fp16.get("loss_scale") or hook.get("loss_scale")
    tell_scale(writer, scale, "framework_default")
    if scale is None:
        writer.default("loss_scaling.scale", _HOOK.arguments["loss_scale"])


def _schedule(writer: SettingWriter, config: Tree) -> None:
    policy, milestones = config.setting("policy"), config.setting("step")
    named = policy or milestones  # without a policy, the base has it
    if named is not None:
        one = milestones is not None and not isinstance(milestones.value, tuple)
        own = {"step": "step" if one else "multistep", "inv": "custom"}
        text = "step" if policy is None else policy.text.lower()
        if decay := own.get(text, decay_of_schedule(text)):
            writer.tell("schedule.name", decay, named)
        else:
            writer.unknown("schedule.name", named.reason or f"a policy called {text!r}", named)
        unit = "step" if config.section("by_epoch").value is False else "epoch"
        writer.tell("schedule.stepped_per", unit, named)
        writer.by_library("schedule.on_skip")
    if config.section("warmup").value is not None:
        writer.tell("schedule.has_warmup", "yes", config.setting("warmup"))
        unit = "epochs" if config.section("warmup_by_epoch").value is True else "steps"
        match config.setting("warmup_iters"):
            case Setting(number=int() as number) as length:
                writer.tell("schedule.warmup", f"{number} {unit}", length)
