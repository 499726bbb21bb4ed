"""Configurations of MMEngine and of MMCV 1: dictionaries with `type`, inherited by `_base_`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from crosscast.facts.fact import Fact
from crosscast.readers.config.deepspeed_config import tell_batch, tell_zero
from crosscast.readers.config.deepspeed_precision import tell_precision_sections
from crosscast.readers.config.settings import Said
from crosscast.readers.config.tree import Tree
from crosscast.readers.python.config_tree import assigned, is_config
from crosscast.readers.python.mm_sections import (
    tell_checkpointing,
    tell_clip_grad,
    tell_groups,
    tell_scale,
    tell_typed_optimizer,
)
from crosscast.readers.python.mmcv_config import tell_mmcv
from crosscast.readers.python.mmengine_schedule import tell_param_scheduler
from crosscast.readers.words import tell_window

if TYPE_CHECKING:
    from crosscast.pysource.programs.module import Module
    from crosscast.pysource.programs.program import Program

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
        for module in program.modules:
            if not any(hint in module.source.text for hint in self.hints):
                continue
            if not is_config(module):
                continue
            tree = assigned(module)
            names = {name for name, one in (tree.keys or {}).items() if one.value is None}
            first = next(iter((tree.keys or {}).values()), tree)
            said = Said(NAME, home=(first.key or first.span,))
            if names & {"optim_wrapper", "param_scheduler"} or len(names & _ENGINE) >= 2:
                _tell(said, tree)
            elif names & {"optimizer_config", "lr_config"} or len(names & _CV) >= 3:
                tell_mmcv(said, tree)
            elif tree.get("_base_") is not None and names & _PARTS:
                _inherits(said, module, tree)
            yield from said.facts


def _inherits(said: Said, module: Module, tree: Tree) -> None:
    """Say what files that this one only adds a model or data to decide."""
    base = tree.setting("_base_")
    said.tell("framework", "pytorch", origin="presence")
    if tree.get("data_preprocessor") is not None:
        said.tell("api", "mmengine", base, origin="presence")
    said.tell("precision.enabled", "inherit", base, origin="presence", confidence="likely")
    text = module.source.text
    if "schedule" in text.partition("_base_")[2].partition("]")[0]:
        said.tell("schedule.name", "inherit", base, origin="presence", confidence="likely")
        said.tell("optimizer.name", "inherit", base, origin="presence", confidence="likely")
    said.by_library("zero_grad.where", "parallel.kind")


def _tell(said: Said, tree: Tree) -> None:
    wrapper = tree.get("optim_wrapper")
    said.tell("framework", "pytorch", origin="presence")
    said.tell("api", "mmengine", None if wrapper is None else wrapper.setting("type"))
    strategy = tree.get("strategy")
    based = tree.get("_base_") is not None or wrapper is None
    kind = "" if strategy is None else (strategy.get("type") or strategy).text
    if strategy is not None and "DeepSpeed" in kind:
        said.tell("api", "deepspeed", strategy.setting("type"), origin="presence")
        tell_precision_sections(said, strategy)
        tell_batch(said, strategy)
        tell_zero(said, strategy)
    else:
        _precision(said, wrapper, based)
        if "FSDP" in kind and strategy is not None:
            said.tell("parallel.kind", "fsdp", strategy.setting("type"))
        else:
            said.by_library("parallel.kind")
    if wrapper is not None:
        _wrapper(said, wrapper)
    tell_param_scheduler(said, tree.get("param_scheduler"))
    loop = tree.get("train_cfg")
    if loop is not None:
        said.number("run.epochs", loop.setting("max_epochs"))
        said.number("schedule.total_steps", loop.setting("max_iters"))
    said.number("seed", tree.setting("randomness", "seed"))
    said.number("batch.micro_batch_size", tree.setting("train_dataloader", "batch_size"))
    said.by_library("zero_grad.where")
    for hook in (tree.get("custom_hooks") or Tree(tree.span)).items or []:
        momentum = hook.setting("momentum")
        number = None if momentum is None else momentum.number
        if (hook.get("type") or hook).text == "EMAHook" and number is not None:
            said.tell("ema.decay", 1 - number, momentum, origin="derived")
    tell_checkpointing(said, tree)


def _precision(said: Said, wrapper: Tree | None, based: bool) -> None:
    kind = None if wrapper is None else wrapper.setting("type")
    if kind is None:
        word = "inherit" if based else "never"
        said.tell("precision.enabled", word, origin="presence", confidence="likely")
        if not based:
            said.default("precision.compute_dtype", "float32")
        return
    name = kind.text.rpartition(".")[2]
    if name not in ("AmpOptimWrapper", "ApexOptimWrapper") or wrapper is None:
        if name == "OptimWrapper":
            said.tell("precision.enabled", "never", kind)
            said.tell("precision.compute_dtype", "float32", kind)
            said.tell("loss_scaling.mode", "none", kind, origin="presence")
        return
    dtype = wrapper.setting("dtype")
    brain = dtype is not None and "bf" in dtype.text
    word = "bfloat16" if brain else "float16"
    said.tell("precision.enabled", "always", kind)
    said.tell("precision.dtypes", word, kind, dtype)
    said.tell("precision.compute_dtype", word, kind, dtype)
    said.tell("precision.mode", "mixed", kind, origin="presence")
    if name == "ApexOptimWrapper":
        said.tell("api", "apex_amp", kind)
        if (level := wrapper.setting("opt_level")) is not None:
            said.tell("precision.level", level.text, level)
    said.by_library("scaler_update.status")
    tell_scale(said, wrapper.get("loss_scale"), "framework_default", brain)


def _wrapper(said: Said, wrapper: Tree) -> None:
    tell_window(said, wrapper.setting("accumulative_counts"))
    tell_clip_grad(said, wrapper.get("clip_grad"))
    optimizer = wrapper.get("optimizer")
    if optimizer is not None:
        tell_typed_optimizer(said, optimizer)
    tell_groups(said, wrapper.get("paramwise_cfg"))


READER = MmengineReader()
