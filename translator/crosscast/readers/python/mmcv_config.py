"""Configurations of MMCV 1: `optimizer_config`, `lr_config`, `fp16`."""

from __future__ import annotations

from crosscast.readers.python.mm_sections import (
    tell_checkpointing,
    tell_clip_grad,
    tell_groups,
    tell_scale,
    tell_typed_optimizer,
)
from crosscast.readers.python.optimizers import role
from crosscast.readers.schedule_names import decay_of_schedule
from crosscast.readers.settings import SettingWriter
from crosscast.readers.tree import Tree
from crosscast.readers.words import tell_window
from crosscast.targets.library_defaults import LIBRARY_DEFAULTS

_HOOK = next(d for d in LIBRARY_DEFAULTS if d.api == "mmcv.runner.Fp16OptimizerHook")
_POLICIES = {"step": "multistep", "inv": "custom"}
"""Policies that mean something else here than everywhere."""


def tell_mmcv(writer: SettingWriter, tree: Tree) -> None:
    """Record the facts of the dictionaries of a configuration."""
    optimizer = tree.get("optimizer")
    hook = tree.get("optimizer_config")
    writer.tell("framework", "pytorch", origin="presence")
    writer.tell("api", "mmcv1", origin="presence")
    _precision(writer, tree, hook)
    if hook is not None and hook.keys is not None:
        tell_window(writer, hook.setting("cumulative_iters") or hook.setting("update_interval"))
        tell_clip_grad(writer, hook.get("grad_clip"))
    if optimizer is not None and optimizer.keys is not None:
        _optimizers(writer, optimizer)
        tell_groups(writer, optimizer.get("paramwise_cfg"))
    _schedule(writer, tree.get("lr_config"))
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
    parts = {
        name: section for name, section in (optimizer.keys or {}).items() if section.get("type")
    }
    if optimizer.get("type") is not None or not parts:
        tell_typed_optimizer(writer, optimizer)
        return
    subject = writer.subject
    for name, section in parts.items():
        writer.subject = name
        tell_typed_optimizer(writer, section)
        part = role(name.rstrip("s"))
        if part:
            writer.tell("optimizer.role", part, section.setting("type"), origin="presence")
    writer.subject = subject


def _precision(writer: SettingWriter, tree: Tree, hook: Tree | None) -> None:
    fp16 = tree.get("fp16")
    kind = None if hook is None or hook.keys is None else hook.setting("type")
    apex = None if hook is None or hook.keys is None else hook.setting("use_fp16")
    half = fp16 is not None and (fp16.keys is not None or fp16.value is True)
    by_hook = kind is not None and "Fp16" in kind.text
    if apex is not None and apex.switch:
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
    setting = fp16.as_setting("fp16") if half and fp16 is not None else kind
    writer.tell("precision.enabled", "always", setting)
    writer.tell("precision.dtypes", "float16", setting)
    writer.tell("precision.compute_dtype", "float16", setting)
    writer.tell("precision.mode", "mixed", setting, origin="presence")
    writer.by_library("scaler_update.status")
    scale = fp16.get("loss_scale") if half and fp16 is not None else None
    if scale is None and hook is not None and by_hook:
        scale = hook.get("loss_scale")
    tell_scale(writer, scale, "framework_default")
    if scale is None:
        writer.default("loss_scaling.scale", _HOOK.arguments["loss_scale"])


def _of_steps(config: Tree) -> str:
    steps = config.get("step")
    return "step" if steps is not None and steps.items is None else "multistep"


def _unit(config: Tree) -> str:
    by_epoch = config.get("by_epoch")
    return "step" if by_epoch is not None and by_epoch.value is False else "epoch"


def _schedule(writer: SettingWriter, config: Tree | None) -> None:
    if config is None or config.keys is None:
        return
    policy, milestones = config.setting("policy"), config.setting("step")
    if policy is None and milestones is not None:  # the base has the policy; one has milestones
        writer.tell("schedule.name", _of_steps(config), milestones)
        writer.tell("schedule.stepped_per", _unit(config), config.setting("by_epoch") or milestones)
        writer.by_library("schedule.on_skip")
    if policy is not None:
        word = _POLICIES.get(policy.text.lower()) or decay_of_schedule(policy.text)
        if word == "multistep" and milestones is not None:
            word = _of_steps(config)
        if not word:
            reason = policy.reason or f"a policy called {policy.text!r}"
            writer.unknown("schedule.name", reason, policy)
        else:
            writer.tell("schedule.name", word, policy)
        writer.tell("schedule.stepped_per", _unit(config), config.setting("by_epoch") or policy)
        writer.by_library("schedule.on_skip")
    warmup, length = config.setting("warmup"), config.setting("warmup_iters")
    if warmup is not None and warmup.value is not None:
        writer.tell("schedule.has_warmup", "yes", warmup)
        by_epoch = config.get("warmup_by_epoch")
        unit = "epochs" if by_epoch is not None and by_epoch.value is True else "steps"
        if length is not None and length.number is not None:
            writer.tell("schedule.warmup", f"{length.number} {unit}", length)
