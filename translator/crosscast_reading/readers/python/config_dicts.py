"""Other Python configurations: OpenSeq2Seq's `base_params`, and files of bare overrides."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.flags.launch import Launch
from crosscast_reading.readers.config.hf_arguments import are_trainer_arguments
from crosscast_reading.readers.config.paddlenlp_arguments import are_paddlenlps, tell_trainer_flags
from crosscast_reading.readers.python.config_tree import assigned, is_config
from crosscast_reading.readers.schedule_names import decay_of_schedule
from crosscast_reading.readers.settings import Setting, Settings, SettingWriter
from crosscast_reading.readers.tree import Tree
from crosscast_reading.readers.words import (
    tell_clip,
    tell_numbers,
    tell_optimizer,
    tell_warmup,
    tell_window,
)

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

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
_INHERITED = (
    *("precision.enabled", "precision.compute_dtype", "loss_scaling.mode", "scaler_update.status"),
    *("zero_grad.where", "parallel.kind", "optimizer.name", "clipping.kind", "schedule.name"),
)
"""What the program of some overrides decides where they do not."""


class ConfigDictsReader:
    """Reads configuration modules that hold dictionaries or bare values."""

    name = NAME
    hints = ("base_params", "gradient_accumulation_steps", "learning_rate", "max_iters")

    def read(self, program: Program) -> Iterable[Fact]:
        """Yield the facts of every module that is such a configuration."""
        for module in program.modules:
            if not is_config(module):
                continue
            writer = SettingWriter(NAME, home=(module.span(module.tree.body[0]),))
            tree = assigned(module)
            if "open_seq2seq" in module.source.text and tree.section("base_params").keys:
                _tell_seq2seq(writer, tree)
            elif _only_values(module) and _are_arguments(settings := tree.settings()):
                if module is program.modules[0]:  # otherwise the program says what it reads
                    tell_trainer_flags(writer, settings, api="config_overrides")
            elif _only_overrides(module):
                launch = Launch(program.launch)
                # What the command sets counts more than the file, and is not in it.
                keys = {name: v for name, v in (tree.keys or {}).items() if not launch.has(name)}
                _tell_overrides(writer, Tree(tree.span, keys=keys), _changed(module, program))
            yield from writer.facts


def _tell_seq2seq(writer: SettingWriter, tree: Tree) -> None:
    keys = {**(tree.section("base_params").keys or {}), **(tree.section("train_params").keys or {})}
    params = Tree(tree.span, keys=keys)
    get = params.setting
    writer.tell("framework", "tensorflow", origin="presence")
    writer.tell("api", "openseq2seq", origin="presence")
    _seq2seq_precision(writer, params)
    _horovod(writer, params)
    family = tell_optimizer(writer, get("optimizer"))
    tell_numbers(writer, "openseq2seq", params.section("optimizer_params").setting, "optimizer")
    if family == "adamw":
        writer.number("optimizer.weight_decay", params.setting("optimizer_params", "weight_decay"))
    if params.section("regularizer").text:
        writer.number("optimizer.l2", params.setting("regularizer_params", "scale"))
    policy = get("lr_policy")
    if policy is not None:
        word = policy.text.rpartition(".")[2].lower()
        own = (decay for start, decay in _POLICIES if word.startswith(start))
        if decay := next(own, decay_of_schedule(word)):
            writer.tell("schedule.name", decay, policy)
        else:
            reason = policy.reason or f"a policy called {word!r}"
            writer.unknown("schedule.name", reason, policy)
        writer.tell("schedule.stepped_per", "step", policy, origin="presence")
        writer.by_library("schedule.on_skip")
    writer.number("optimizer.learning_rate", params.setting("lr_policy_params", "learning_rate"))
    tell_warmup(writer, params.setting("lr_policy_params", "warmup_steps"))
    tell_clip(writer, get("max_grad_norm"))
    larc = params.section("larc_params")
    if larc.keys:
        writer.tell("clipping.kind", "layerwise", larc.as_setting("larc_params"))
    tell_window(writer, get("iter_size"))
    tell_numbers(writer, "openseq2seq", get, "batch", "schedule")
    writer.number("run.epochs", get("num_epochs"))
    writer.number("seed", get("random_seed"))


def _seq2seq_precision(writer: SettingWriter, params: Tree) -> None:
    dtype = params.setting("dtype")
    word = params.section("dtype").text.rpartition(".")[2] or "float32"
    match word:
        case "mixed" | "float16":
            writer.tell("precision.enabled", "always", dtype)
            writer.tell("precision.dtypes", "float16", dtype)
            writer.tell("precision.compute_dtype", "float16", dtype)
            writer.tell("precision.mode", "mixed" if word == "mixed" else "full", dtype)
            writer.tell("precision.level", word, dtype)
            _seq2seq_scale(writer, params.setting("loss_scaling"), dtype)
            writer.by_library("scaler_update.status")
        case "float32":
            writer.tell("precision.enabled", "never", dtype)
            writer.tell("precision.compute_dtype", "float32", dtype)
            writer.tell("loss_scaling.mode", "none", dtype, origin="presence")
        case _:
            writer.unknown("precision.compute_dtype", f"a type called {word!r}", dtype)


def _seq2seq_scale(writer: SettingWriter, scale: Setting | None, dtype: Setting | None) -> None:
    match scale:
        case None | Setting(known=True, value=None):
            writer.tell("loss_scaling.mode", "none", dtype, origin="presence")
        case Setting(number=int() | float()):
            writer.tell("loss_scaling.mode", "static", scale)
            writer.number("loss_scaling.scale", scale)
        case Setting(known=True):
            writer.tell("loss_scaling.mode", "dynamic", scale)
        case _:
            writer.unknown("loss_scaling.mode", scale.reason, scale)


def _horovod(writer: SettingWriter, params: Tree) -> None:
    match params.setting("use_horovod"), params.setting("num_gpus"):
        case Setting(switch=True) as horovod, _:
            writer.tell("parallel.kind", "horovod", horovod)
        case _, Setting(number=int() as number) as gpus if number > 1:
            writer.tell("parallel.kind", "towers", gpus)
            writer.number("parallel.world_size", gpus)


def _are_arguments(settings: Settings) -> bool:
    """Return whether values have the names of arguments of PaddleNLP's Trainer."""
    return are_trainer_arguments(settings) and are_paddlenlps(settings)


def _only_values(module: Module) -> bool:
    """Return whether a module only assigns values to names."""
    return all(
        isinstance(each, ast.Import | ast.ImportFrom)
        or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        or (isinstance(each, ast.Assign) and [*map(type, each.targets)] == [ast.Name])
        or (isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name))
        for each in module.tree.body
    )


def _only_overrides(module: Module) -> bool:
    """Return whether a module only assigns values to names that a training script has."""
    names = set(module.scope.bindings) if _only_values(module) else set()
    training = {"gradient_accumulation_steps", "batch_size", "learning_rate", "max_iters"}
    return len(names & _OVERRIDES) >= 3 and len(names & training) >= 2


def _changed(module: Module, program: Program) -> frozenset[str] | None:
    """Return the names the program of some overrides recomputes: `steps //= processes`; or None."""
    names = module.scope.bindings.keys() & _OVERRIDES
    for other in program.modules:
        bindings = other.scope.bindings
        if other is not module and len(names & bindings.keys()) >= 3:
            return frozenset(
                n
                for n, assignments in bindings.items()
                if "augment" in [b.kind for b in assignments]
            )
    return None


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
    inherited = list(_INHERITED)
    dtype = get("dtype")
    word = tree.section("dtype").text
    if word in ("float16", "bfloat16", "float32"):
        writer.tell("precision.compute_dtype", word, dtype)
        writer.tell("precision.enabled", "never" if word == "float32" else "always", dtype)
        if word != "float32":
            writer.tell("precision.dtypes", word, dtype)
    steps = get("gradient_accumulation_steps")
    if steps is not None:
        if steps.name in (changed or ()):
            writer.unknown("accumulation.steps", "the program changes it", steps, text=steps.name)
        else:
            writer.number("accumulation.steps", steps)
        writer.tell("accumulation.present", "yes", steps)
        inherited += [f"accumulation.{name}" for name in ("loss_divided", "tail", "no_sync")]
    tell_numbers(writer, "nanogpt", get, "optimizer")
    tell_clip(writer, get("grad_clip"))
    decays = get("decay_lr")
    if decays is not None and decays.switch is False:
        writer.tell("schedule.name", "constant", decays)
    tell_warmup(writer, get("warmup_iters"))
    tell_numbers(writer, "nanogpt", get, "schedule", "batch", "data")
    if changed is None:
        told = {fact.field for fact in writer.facts}
        for field in inherited:
            if field not in told:
                writer.tell(field, "inherit", origin="presence", confidence="likely")


READER = ConfigDictsReader()
