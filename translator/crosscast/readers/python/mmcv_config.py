"""Configurations of MMCV 1: `optimizer_config`, `lr_config`, `fp16`."""

from __future__ import annotations

from crosscast.readers.config.settings import Said
from crosscast.readers.config.tree import Tree
from crosscast.readers.python.mm_sections import (
    tell_checkpointing,
    tell_clip_grad,
    tell_groups,
    tell_scale,
    tell_typed_optimizer,
)
from crosscast.readers.schedule_names import decay_of_schedule
from crosscast.readers.torch.optimizer_names import role
from crosscast.readers.words import tell_window
from crosscast.targets.library_defaults import LIBRARY_DEFAULTS

_HOOK = next(d for d in LIBRARY_DEFAULTS if d.api == "mmcv.runner.Fp16OptimizerHook")
_POLICIES = {"step": "multistep", "inv": "custom"}
"""Policies that mean something else here than everywhere."""


def tell_mmcv(said: Said, tree: Tree) -> None:
    """Say what the dictionaries of a configuration mean."""
    optimizer = tree.get("optimizer")
    hook = tree.get("optimizer_config")
    said.tell("framework", "pytorch", origin="presence")
    said.tell("api", "mmcv1", origin="presence")
    _precision(said, tree, hook)
    if hook is not None and hook.keys is not None:
        tell_window(said, hook.setting("cumulative_iters") or hook.setting("update_interval"))
        tell_clip_grad(said, hook.get("grad_clip"))
    if optimizer is not None and optimizer.keys is not None:
        _optimizers(said, optimizer)
        tell_groups(said, optimizer.get("paramwise_cfg"))
    _schedule(said, tree.get("lr_config"))
    runner = tree.get("runner") or tree
    said.number("run.epochs", runner.setting("max_epochs") or tree.setting("total_epochs"))
    said.number("schedule.total_steps", runner.setting("max_iters") or tree.setting("total_iters"))
    said.number("batch.micro_batch_size", tree.setting("data", "samples_per_gpu"))
    said.number("seed", tree.setting("seed"))
    said.by_library("zero_grad.where", "parallel.kind")
    tell_checkpointing(said, tree)


def _optimizers(said: Said, optimizer: Tree) -> None:
    """Say the optimizer, or those of several parts of a model: `dict(generator=dict(type=...))`."""
    parts = {name: one for name, one in (optimizer.keys or {}).items() if one.get("type")}
    if optimizer.get("type") is not None or not parts:
        tell_typed_optimizer(said, optimizer)
        return
    subject = said.subject
    for name, one in parts.items():
        said.subject = name
        tell_typed_optimizer(said, one)
        part = role(name.rstrip("s"))
        if part:
            said.tell("optimizer.role", part, one.setting("type"), origin="presence")
    said.subject = subject


def _precision(said: Said, tree: Tree, hook: Tree | None) -> None:
    fp16 = tree.get("fp16")
    kind = None if hook is None or hook.keys is None else hook.setting("type")
    apex = None if hook is None or hook.keys is None else hook.setting("use_fp16")
    half = fp16 is not None and (fp16.keys is not None or fp16.value is True)
    by_hook = kind is not None and "Fp16" in kind.text
    if apex is not None and apex.switch:
        said.tell("api", "apex_amp", apex)
        said.tell("precision.enabled", "always", apex)
        said.tell("precision.dtypes", "float16", apex)
        said.tell("precision.compute_dtype", "float16", apex)
        said.tell("loss_scaling.mode", "library", apex, origin="presence")
        said.by_library("scaler_update.status")
        return
    if not half and not by_hook:
        if tree.get("_base_") is not None:
            said.tell("precision.enabled", "inherit", origin="presence", confidence="likely")
        else:
            said.default("precision.enabled", "never")
            said.default("precision.compute_dtype", "float32")
            said.tell("loss_scaling.mode", "none", origin="presence")
        return
    setting = fp16.as_setting("fp16") if half and fp16 is not None else kind
    said.tell("precision.enabled", "always", setting)
    said.tell("precision.dtypes", "float16", setting)
    said.tell("precision.compute_dtype", "float16", setting)
    said.tell("precision.mode", "mixed", setting, origin="presence")
    said.by_library("scaler_update.status")
    scale = fp16.get("loss_scale") if half and fp16 is not None else None
    if scale is None and hook is not None and by_hook:
        scale = hook.get("loss_scale")
    tell_scale(said, scale, "framework_default")
    if scale is None:
        said.default("loss_scaling.scale", _HOOK.arguments["loss_scale"])


def _schedule(said: Said, config: Tree | None) -> None:
    if config is None or config.keys is None:
        return
    policy = config.setting("policy")
    if policy is not None:
        word = _POLICIES.get(policy.text.lower()) or decay_of_schedule(policy.text)
        steps = config.get("step")
        if word == "multistep" and steps is not None and steps.items is None:
            word = "step"
        if not word:
            reason = policy.reason or f"a policy called {policy.text!r}"
            said.unknown("schedule.name", reason, policy)
        else:
            said.tell("schedule.name", word, policy)
        by_epoch = config.get("by_epoch")
        unit = "step" if by_epoch is not None and by_epoch.value is False else "epoch"
        said.tell("schedule.stepped_per", unit, config.setting("by_epoch") or policy)
        said.by_library("schedule.on_skip")
    warmup, length = config.setting("warmup"), config.setting("warmup_iters")
    if warmup is not None and warmup.value is not None:
        said.tell("schedule.has_warmup", "yes", warmup)
        by_epoch = config.get("warmup_by_epoch")
        unit = "epochs" if by_epoch is not None and by_epoch.value is True else "steps"
        if length is not None and length.number is not None:
            said.tell("schedule.warmup", f"{length.number} {unit}", length)
