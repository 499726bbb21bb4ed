"""Configurations of Tunix: `base_config.yaml`, and files that are laid over it."""

from __future__ import annotations

from crosscast.messages.source import Source
from crosscast_reading.readers.config.yaml_format import YamlFormat
from crosscast_reading.readers.settings import Setting, SettingWriter
from crosscast_reading.readers.tree import Tree
from crosscast_reading.readers.words import tell_optimizer, tell_warmup, tell_window

_SECTIONS = frozenset({"optimizer_config", "training_config", "rl_training_config"})
_BESIDE = frozenset({"model_config", "tokenizer_config", "actor_model_config", "dataset_name"})
_OPTIMIZER = {
    "b1": "optimizer.betas.0",
    "b2": "optimizer.betas.1",
    "eps": "optimizer.eps",
    "weight_decay": "optimizer.weight_decay",
    "momentum": "optimizer.momentum",
}
_SCHEDULES = {
    "constant_schedule": "constant",
    "cosine_decay_schedule": "cosine",
    "warmup_cosine_decay_schedule": "cosine",
    "linear_schedule": "linear",
    "exponential_decay": "exponential",
}
"""Schedules of optax by their names."""
_PEAKS = ("peak_value", "init_value", "value")


def _owns(source: Source, keys: frozenset[str]) -> bool:
    named = "opt_type" in source.text or "tunix" in source.text
    return bool(keys & _SECTIONS) and bool(keys & _BESIDE) and named


def _tell(writer: SettingWriter, tree: Tree) -> None:
    writer.tell("framework", "jax", origin="presence")
    writer.tell("zero_grad.where", "functional", origin="presence")
    rl = tree.section("rl_training_config")
    training = tree.section("training_config") if tree.get("training_config") else rl
    optimizer = tree.section("optimizer_config")
    of_rl = [rl.section(name) for name in ("actor_optimizer_config", "critic_optimizer_config")]
    for section in (optimizer, *of_rl):
        _without_effect(writer, section)
    _optimizer(writer, optimizer if optimizer.keys is not None else of_rl[0])
    steps = training.setting("gradient_accumulation_steps")
    tell_window(writer, steps)
    if not any(fact.field == "schedule.total_steps" for fact in writer.facts):
        writer.number("schedule.total_steps", training.setting("max_steps"))
    _rows(writer, tree.setting("batch_size"), steps)
    writer.number("run.epochs", tree.setting("num_train_epochs"))
    _mesh(writer, tree.section("model_config").section("mesh"))
    seed = tree.section("model_config").setting("rng_seed")
    if seed is not None:
        writer.number("seed", seed)
    else:
        writer.unknown("seed", "the configuration below this one says it")
    reason = "the types are those of the model"
    writer.unknown("precision.mode", reason)


def _optimizer(writer: SettingWriter, section: Tree) -> None:
    """Record the optimizer, which gets every entry that a parameter of it is called as.

    So a rate that stands beside a schedule is the one that is used.
    """
    get = section.setting
    kind = get("opt_type")
    if kind is not None and not tell_optimizer(writer, kind):
        writer.unknown("optimizer.name", f"a recipe has no {kind.text}", kind, text=kind.text)
    for key, field in _OPTIMIZER.items():
        writer.number(field, get(key))
    rate, schedule = get("learning_rate"), get("schedule_type")
    if rate is not None and rate.number is not None:
        writer.number("optimizer.learning_rate", rate)
        if schedule is not None and schedule.text:
            writer.tell("schedule.name", "constant", rate, origin="presence")
            writer.tell("schedule.has_warmup", "no", rate, origin="presence")
    elif schedule is not None and schedule.text:
        _schedule(writer, schedule, section)


def _without_effect(writer: SettingWriter, section: Tree) -> None:
    """Report entries of an optimizer that Tunix gives to nothing (c7d8950f, cli/config.py).

    It calls the optimizer with the entries that are called as its parameters, so `learning_rate`
    wins over the schedule, and `max_grad_norm`, which no optimizer of optax has, is left.
    """
    rate, schedule = section.setting("learning_rate"), section.setting("schedule_type")
    if rate is not None and rate.number is not None and schedule is not None and schedule.text:
        message = f"learning_rate is used, and {schedule.text} is not: Tunix takes the rate"
        hint = "leave out learning_rate if the schedule is meant"
        writer.warn("CC933", message, schedule, hint=hint)
    limit = section.setting("max_grad_norm")
    if limit is not None and limit.number:
        message = "max_grad_norm reaches no optimizer: gradients are not clipped by it"
        hint = "clip in a chain of your program, and write clipping in the recipe"
        writer.warn("CC933", message, limit, hint=hint)


def _schedule(writer: SettingWriter, kind: Setting, section: Tree) -> None:
    get = section.setting
    decay = _SCHEDULES.get(kind.text)
    if decay is None:
        writer.unknown("schedule.name", f"a schedule called {kind.text!r}", kind, text=kind.text)
    else:
        writer.tell("schedule.name", decay, kind)
    writer.tell("schedule.stepped_per", "step", kind, origin="presence")
    peak = next((rate for key in _PEAKS if (rate := get(key)) is not None), None)
    writer.number("optimizer.learning_rate", peak)
    warms = kind.text.startswith("warmup_")
    steps = get("warmup_steps") if warms else None
    if steps is not None:
        tell_warmup(writer, steps)
    else:
        writer.tell("schedule.has_warmup", "yes" if warms else "no", kind, origin="presence")
    if decay == "cosine":
        writer.number("schedule.total_steps", get("decay_steps"))
        if warms:
            writer.number("recipe.schedule.end_lr", get("end_value"))


def _rows(writer: SettingWriter, rows: Setting | None, steps: Setting | None) -> None:
    """Record the rows of an update: every micro-batch has those of all devices."""
    windows = 1 if steps is None else steps.number
    if isinstance(windows, int) and windows >= 1:
        writer.number("batch.global_batch_size", rows, factor=windows)


def _mesh(writer: SettingWriter, mesh: Tree) -> None:
    names = mesh.setting("axis_names")
    if names is None:
        return
    writer.tell("parallel.kind", "fsdp" if "fsdp" in names.text else "mesh", names)
    writer.unknown("parallel.nodes", "the launch decides on how many machines it runs", names)


READER = YamlFormat("tunix_yaml", _owns, _tell)
