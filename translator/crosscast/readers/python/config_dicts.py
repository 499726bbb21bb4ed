"""Other Python configurations: OpenSeq2Seq's `base_params`, and files of bare overrides."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from crosscast.facts.fact import Fact
from crosscast.pysource.flags.launch import Launch
from crosscast.readers.python.config_tree import assigned, is_config
from crosscast.readers.schedule_names import decay_of_schedule
from crosscast.readers.settings import Setting, SettingWriter
from crosscast.readers.tree import Tree
from crosscast.readers.words import tell_clip, tell_numbers, tell_optimizer

if TYPE_CHECKING:
    from crosscast.pysource.programs.module import Module
    from crosscast.pysource.programs.program import Program

NAME = "config_dicts"
_POLICIES = (("transformer", "noam"), ("inv", "custom"))
"""Policies that mean something else here than everywhere, by how their names begin."""
_OVERRIDES = frozenset(
    (
        *("gradient_accumulation_steps", "batch_size", "block_size", "max_iters", "warmup_iters"),
        *("lr_decay_iters", "learning_rate", "weight_decay", "beta2", "grad_clip", "min_lr"),
        *("eval_interval", "eval_iters", "log_interval", "always_save_checkpoint", "wandb_log"),
        *("init_from", "decay_lr", "out_dir"),
    )
)


class ConfigDictsReader:
    """Reads configuration modules that hold dictionaries or bare values."""

    name = NAME
    hints = ("base_params", "gradient_accumulation_steps", "learning_rate", "max_iters")

    def read(self, program: Program) -> Iterable[Fact]:
        """Yield the facts of every module that is such a configuration."""
        for module in program.modules:
            text = module.source.text
            if not any(hint in text for hint in self.hints) or not is_config(module):
                continue
            writer = SettingWriter(NAME, home=(module.span(module.tree.body[0]),))
            if "base_params" in text and "open_seq2seq" in text:
                tree = assigned(module)
                params = tree.get("base_params")
                if params is not None and params.keys is not None:
                    _tell_seq2seq(writer, params, tree.get("train_params"))
            elif _only_overrides(module):
                tree, launch = assigned(module), Launch(program.launch)
                # What the command sets counts more than the file, and is not in it.
                keys = {name: v for name, v in (tree.keys or {}).items() if not launch.has(name)}
                changed = _changed_by(_overridden(module, program))
                _tell_overrides(writer, Tree(tree.span, keys=keys), changed)
            yield from writer.facts


def _tell_seq2seq(writer: SettingWriter, params: Tree, train: Tree | None) -> None:
    keys = {**(params.keys or {}), **((train.keys or {}) if train is not None else {})}
    params = Tree(params.span, keys=keys)
    get = params.setting
    writer.tell("framework", "tensorflow", origin="presence")
    writer.tell("api", "openseq2seq", origin="presence")
    _seq2seq_precision(writer, params)
    _horovod(writer, params)
    family = tell_optimizer(writer, get("optimizer"))
    if (constants := params.get("optimizer_params")) is not None:
        tell_numbers(writer, "openseq2seq", constants.setting, "optimizer")
    if family == "adamw":
        writer.number("optimizer.weight_decay", params.setting("optimizer_params", "weight_decay"))
    if family and params.get("regularizer") is not None:
        writer.number("optimizer.l2", params.setting("regularizer_params", "scale"))
    policy = get("lr_policy")
    if policy is not None:
        word = policy.text.rpartition(".")[2].lower()
        own = (decay for start, decay in _POLICIES if word.startswith(start))
        if decay := next(own, decay_of_schedule(word)):
            writer.tell("schedule.name", decay, policy)
        else:
            writer.unknown("schedule.name", f"a policy called {word!r}", policy)
        writer.tell("schedule.stepped_per", "step", policy, origin="presence")
        writer.by_library("schedule.on_skip")
    writer.number("optimizer.learning_rate", params.setting("lr_policy_params", "learning_rate"))
    warmup = params.setting("lr_policy_params", "warmup_steps")
    if warmup is not None and warmup.number is not None:
        writer.tell("schedule.warmup", f"{warmup.number} steps", warmup)
        writer.tell("schedule.has_warmup", "yes" if warmup.number else "no", warmup)
    tell_clip(writer, get("max_grad_norm"))
    larc = params.get("larc_params")
    if larc is not None and larc.keys:
        writer.tell("clipping.kind", "layerwise", larc.as_setting("larc_params"))
    steps = get("iter_size")
    if steps is not None:
        writer.number("accumulation.steps", steps)
        writer.tell("accumulation.present", "yes", steps)
        writer.by_library("accumulation.loss_divided", "accumulation.tail", "accumulation.no_sync")
    tell_numbers(writer, "openseq2seq", get, "batch", "schedule")
    writer.number("run.epochs", get("num_epochs"))
    writer.number("seed", get("random_seed"))


def _seq2seq_precision(writer: SettingWriter, params: Tree) -> None:
    dtype, scale = params.setting("dtype"), params.setting("loss_scaling")
    word = "float32" if dtype is None else dtype.text.rpartition(".")[2]
    if word in ("mixed", "float16"):
        writer.tell("precision.enabled", "always", dtype)
        writer.tell("precision.dtypes", "float16", dtype)
        writer.tell("precision.compute_dtype", "float16", dtype)
        writer.tell("precision.mode", "mixed" if word == "mixed" else "full", dtype)
        writer.tell("precision.level", word, dtype)
        if scale is None or scale.value is None:
            writer.tell("loss_scaling.mode", "none", dtype, origin="presence")
        elif scale.number is not None:
            writer.tell("loss_scaling.mode", "static", scale)
            writer.number("loss_scaling.scale", scale)
        else:
            writer.tell("loss_scaling.mode", "dynamic", scale)
        writer.by_library("scaler_update.status")
        return
    if word != "float32":
        writer.unknown("precision.compute_dtype", f"a type called {word!r}", dtype)
        return
    writer.tell("precision.enabled", "never", dtype)
    writer.tell("precision.compute_dtype", "float32", dtype)
    writer.tell("loss_scaling.mode", "none", dtype, origin="presence")


def _horovod(writer: SettingWriter, params: Tree) -> None:
    horovod, gpus = params.setting("use_horovod"), params.setting("num_gpus")
    if horovod is not None and horovod.switch:
        writer.tell("parallel.kind", "horovod", horovod)
    elif gpus is not None and (gpus.number or 0) > 1:
        writer.tell("parallel.kind", "towers", gpus)
        writer.number("parallel.world_size", gpus)


def _only_overrides(module: Module) -> bool:
    """Return whether a module only assigns plain values to names that a training script has."""
    names: set[str] = set()
    for statement in module.tree.body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        if isinstance(statement, ast.Import | ast.ImportFrom):
            continue
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            return False
        target = statement.targets[0]
        if not isinstance(target, ast.Name) or isinstance(statement.value, ast.Lambda):
            return False
        names.add(target.id)
    training = {"gradient_accumulation_steps", "batch_size", "learning_rate", "max_iters"}
    return len(names & _OVERRIDES) >= 3 and len(names & training) >= 2


def _overridden(module: Module, program: Program) -> Module | None:
    """Return the program whose settings a module of overrides replaces, if it is given."""
    names = {name for name in module.scope.bindings if name in _OVERRIDES}
    for other in program.modules:
        if other is not module and len(names & set(other.scope.bindings)) >= 3:
            return other
    return None


def _changed_by(program: Module | None) -> frozenset[str] | None:
    """Return the settings that a program recomputes: `steps //= processes`; None without one."""
    if program is None:
        return None
    return frozenset(
        name
        for name, bindings in program.scope.bindings.items()
        if any(binding.kind == "augment" for binding in bindings)
    )


def _tell_overrides(writer: SettingWriter, tree: Tree, changed: frozenset[str] | None) -> None:
    """Record overrides.

    Args:
        writer: for the facts.
        tree: the names and values.
        changed: settings that the program recomputes; None if no program is given.
    """
    get = tree.setting
    writer.tell("framework", "pytorch", origin="presence", confidence="likely")
    writer.tell("api", "config_overrides", origin="presence")
    alone = changed is None
    dtype = get("dtype")
    word = "" if dtype is None else dtype.text
    if word in ("float16", "bfloat16", "float32"):
        writer.tell("precision.compute_dtype", word, dtype)
        writer.tell("precision.enabled", "never" if word == "float32" else "always", dtype)
        if word != "float32":
            writer.tell("precision.dtypes", word, dtype)
    elif alone:
        _inherited(writer, "precision.enabled", "precision.compute_dtype")
    if alone:
        _inherited(writer, "loss_scaling.mode", "zero_grad.where", "scaler_update.status")
        _inherited(writer, "parallel.kind", "optimizer.name")
    steps = get("gradient_accumulation_steps")
    if steps is not None:
        if changed and steps.name in changed:
            writer.unknown("accumulation.steps", "the program changes it", steps, text=steps.name)
        else:
            writer.number("accumulation.steps", steps)
        writer.tell("accumulation.present", "yes", steps)
    if steps is not None and alone:
        _inherited(writer, "accumulation.loss_divided", "accumulation.tail", "accumulation.no_sync")
    tell_numbers(writer, "nanogpt", get, "optimizer")
    if not tell_clip(writer, get("grad_clip"), unscaled="library") and alone:
        _inherited(writer, "clipping.kind")
    _override_schedule(writer, get("decay_lr"), get("warmup_iters"), alone=alone)
    tell_numbers(writer, "nanogpt", get, "schedule", "batch", "data")


def _override_schedule(
    writer: SettingWriter, decays: Setting | None, warmup: Setting | None, *, alone: bool
) -> None:
    if decays is not None and decays.switch is False:
        writer.tell("schedule.name", "constant", decays)
    elif alone:
        _inherited(writer, "schedule.name")
    if warmup is not None and warmup.number is not None:
        writer.tell("schedule.warmup", f"{warmup.number} steps", warmup)
        writer.tell("schedule.has_warmup", "yes" if warmup.number else "no", warmup)


def _inherited(writer: SettingWriter, *fields: str) -> None:
    for field in fields:
        writer.tell(field, "inherit", origin="presence", confidence="likely")


READER = ConfigDictsReader()
