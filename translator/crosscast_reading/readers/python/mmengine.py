"""Configurations of MMEngine and of MMCV 1: dictionaries with `type`, inherited by `_base_`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.readers.config.deepspeed_config import tell_batch, tell_zero
from crosscast_reading.readers.config.deepspeed_precision import tell_precision_sections
from crosscast_reading.readers.python.config_inheritance import Configurations
from crosscast_reading.readers.python.mm_sections import (
    tell_checkpointing,
    tell_clip_grad,
    tell_groups,
    tell_scale,
    tell_typed_optimizer,
)
from crosscast_reading.readers.python.mmcv_config import tell_mmcv
from crosscast_reading.readers.schedule_names import decay_of
from crosscast_reading.readers.settings import Setting, SettingWriter
from crosscast_reading.readers.tree import Tree
from crosscast_reading.readers.words import tell_window

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

NAME = "mmengine"
_ENGINE = frozenset(
    {"optim_wrapper", "param_scheduler", "train_cfg", "default_hooks", "train_dataloader"}
)
_CV = frozenset(
    (
        *("optimizer", "optimizer_config", "lr_config", "runner", "total_epochs", "fp16"),
        *("checkpoint_config", "log_config", "evaluation", "workflow", "total_iters"),
    )
)

_PARTS = frozenset({"model", "data", "data_preprocessor", "train_pipeline"})


class MmengineReader:
    """Reads configurations of OpenMMLab's engines."""

    name = NAME
    hints = (
        "optim_wrapper",
        "param_scheduler",
        "optimizer_config",
        "lr_config",
        "train_cfg",
        "_base_",
    )

    def read(self, program: Program) -> Iterable[Fact]:
        """Yield the facts of every module that is such a configuration."""
        configurations = Configurations(program)
        for module in configurations.roots():
            tree = configurations.tree(module)
            names = {name for name, entry in (tree.keys or {}).items() if entry.value is None}
            writer = SettingWriter(NAME, home=_home(module, tree))
            if names & {"optim_wrapper", "param_scheduler"} or len(names & _ENGINE) >= 2:
                _tell(writer, tree)
            elif names & {"optimizer_config", "lr_config"} or len(names & _CV) >= 3:
                tell_mmcv(writer, tree)
            elif tree.get("_base_") is not None and names & _PARTS:
                _inherits(writer, module, tree)
            yield from writer.facts


def _home(module: Module, tree: Tree) -> tuple[Span, ...]:
    """Return the place of the first setting that a configuration itself assigns."""
    every = (tree.keys or {}).values()
    own = (entry.home for entry in every if entry.span.file == module.source.name)
    return next(own, (module.span(module.tree.body[0]),))


def _inherits(writer: SettingWriter, module: Module, tree: Tree) -> None:
    """Record what base files decide if this file only adds a model or data."""
    base = tree.setting("_base_")
    writer.tell("framework", "pytorch", origin="presence")
    if tree.get("data_preprocessor") is not None:
        writer.tell("api", "mmengine", base, origin="presence")
    writer.tell("precision.enabled", "inherit", base, origin="presence", confidence="likely")
    text = module.source.text
    if "schedule" in text.partition("_base_")[2].partition("]")[0]:
        writer.tell("schedule.name", "inherit", base, origin="presence", confidence="likely")
        writer.tell("optimizer.name", "inherit", base, origin="presence", confidence="likely")
    writer.by_library("zero_grad.where", "parallel.kind")


def _tell(writer: SettingWriter, tree: Tree) -> None:
    wrapper = tree.get("optim_wrapper")
    writer.tell("framework", "pytorch", origin="presence")
    writer.tell("api", "mmengine", None if wrapper is None else wrapper.setting("type"))
    strategy = tree.section("strategy")
    kind = (strategy.get("type") or strategy).text
    if "DeepSpeed" in kind:
        writer.tell("api", "deepspeed", strategy.setting("type"), origin="presence")
        tell_precision_sections(writer, strategy)
        tell_batch(writer, strategy)
        tell_zero(writer, strategy)
    else:
        _precision(writer, wrapper, tree.get("_base_") is not None)
        if "FSDP" in kind:
            writer.tell("parallel.kind", "fsdp", strategy.setting("type"))
        else:
            writer.by_library("parallel.kind")
    _wrapper(writer, tree.section("optim_wrapper"))
    _tell_param_scheduler(writer, tree.get("param_scheduler"))
    loop = tree.section("train_cfg")
    writer.number("run.epochs", loop.setting("max_epochs"))
    writer.number("schedule.total_steps", loop.setting("max_iters"))
    writer.number("seed", tree.setting("randomness", "seed"))
    writer.number("batch.micro_batch_size", tree.setting("train_dataloader", "batch_size"))
    writer.by_library("zero_grad.where")
    for hook in tree.section("custom_hooks").items or []:
        match hook.section("type").text.rpartition(".")[2], hook.setting("momentum"):
            case "EMAHook", Setting(number=int() | float() as number) as momentum:
                writer.tell("ema.decay", 1 - number, momentum, origin="derived")
    tell_checkpointing(writer, tree)


def _precision(writer: SettingWriter, wrapper: Tree | None, based: bool) -> None:
    if wrapper is None or wrapper.get("type") is None:
        word = "inherit" if based or wrapper is None else "never"
        writer.tell("precision.enabled", word, origin="presence", confidence="likely")
        if word == "never":
            writer.default("precision.compute_dtype", "float32")
        return
    kind = wrapper.setting("type")
    match wrapper.section("type").text.rpartition(".")[2]:
        case "OptimWrapper":
            writer.tell("precision.enabled", "never", kind)
            writer.tell("precision.compute_dtype", "float32", kind)
            writer.tell("loss_scaling.mode", "none", kind, origin="presence")
        case "AmpOptimWrapper":
            _half(writer, wrapper)
        case "ApexOptimWrapper":
            writer.tell("api", "apex_amp", kind)
            if (level := wrapper.setting("opt_level")) is not None:
                writer.tell("precision.level", level.text, level)
            _half(writer, wrapper)


def _half(writer: SettingWriter, wrapper: Tree) -> None:
    kind, dtype = wrapper.setting("type"), wrapper.setting("dtype")
    brain = "bf" in wrapper.section("dtype").text
    word = "bfloat16" if brain else "float16"
    writer.tell("precision.enabled", "always", kind)
    writer.tell("precision.dtypes", word, kind, dtype)
    writer.tell("precision.compute_dtype", word, kind, dtype)
    writer.tell("precision.mode", "mixed", kind, origin="presence")
    writer.by_library("scaler_update.status")
    tell_scale(writer, wrapper.get("loss_scale"), "framework_default", brain)


def _wrapper(writer: SettingWriter, wrapper: Tree) -> None:
    tell_window(writer, wrapper.setting("accumulative_counts"))
    tell_clip_grad(writer, wrapper.get("clip_grad"))
    tell_typed_optimizer(writer, wrapper.section("optimizer"))
    tell_groups(writer, wrapper.section("paramwise_cfg"))


def _tell_param_scheduler(writer: SettingWriter, schedulers: Tree | None) -> None:
    """Record the schedule that a sequence of schedulers gives."""
    match schedulers:
        case None | Tree(keys=None, items=None, value=None):
            return
        case Tree(items=list() as parts):
            pass
        case _:
            parts = [schedulers]
    decay: Tree | None = None
    for index, part in enumerate(parts):
        named = (part.get("type") or part).as_setting("type")
        kind = str(named.value).rpartition(".")[2]
        if _warms_up(part, kind, first=index == 0, several=len(parts) > 1):
            _warmup(writer, part)
        elif decay is None and not kind.endswith("Momentum"):
            decay = part
            if kind.endswith("LR") and decay_of(kind):
                writer.tell("schedule.name", decay_of(kind), named)
            else:
                writer.unknown("schedule.name", f"a schedule called {kind!r}", named)
    for part in [decay] if decay is not None else parts[-1:]:
        steps = (
            part.section("by_epoch").value is False
            or part.section("convert_to_iter_based").value is True
        )
        unit = "step" if steps else "epoch"
        writer.tell("schedule.stepped_per", unit, part.setting("type"), origin="presence")
        writer.by_library("schedule.on_skip")
    if decay is None:
        setting = schedulers.as_setting("param_scheduler")
        writer.tell("schedule.name", "constant", setting, origin="presence")


def _warms_up(part: Tree, kind: str, *, first: bool, several: bool) -> bool:
    if kind in ("QuadraticWarmupLR", "LinearParamScheduler"):
        return True
    if kind not in ("LinearLR", "ConstantLR") or not first:
        return False
    factor = part.setting("start_factor") or part.setting("factor")
    share = 0 if factor is None else factor.number or 0
    return share < 1 and (several or part.get("end") is not None)


def _warmup(writer: SettingWriter, part: Tree) -> None:
    end = part.setting("end")
    unit = "steps" if part.section("by_epoch").value is False else "epochs"
    writer.tell("schedule.has_warmup", "yes", part.setting("type"), end)
    match end:
        case Setting(number=int() as number):
            writer.tell("schedule.warmup", f"{number} {unit}", end)


READER = MmengineReader()
