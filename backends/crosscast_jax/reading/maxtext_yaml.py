"""Configurations of MaxText: `base.yml`, and files that are laid over it."""

from __future__ import annotations

from crosscast.messages.source import Source
from crosscast_reading.facts.vocabulary import HALVES
from crosscast_reading.readers.config.yaml_format import YamlFormat
from crosscast_reading.readers.settings import Setting, SettingWriter
from crosscast_reading.readers.tree import Tree
from crosscast_reading.readers.words import (
    TYPES,
    tell_clip,
    tell_optimizer,
    tell_precision,
    tell_window,
)

_OWN = frozenset(
    {
        *("warmup_steps_fraction", "learning_rate_schedule_steps", "ici_fsdp_parallelism"),
        *("dcn_data_parallelism", "base_emb_dim", "remat_policy", "gradient_clipping_threshold"),
        *("per_device_batch_size", "base_config", "max_target_length", "adam_b1", "opt_type"),
        *("learning_rate_final_fraction", "cosine_learning_rate_final_fraction", "weight_dtype"),
        *("base_output_directory", "gradient_accumulation_steps", "learning_rate", "steps"),
    }
)
"""Keys of MaxText; some are used by others, too."""
_ENOUGH = 4
_TRAINING = frozenset({"learning_rate", "steps", "per_device_batch_size", "opt_type", "adam_b1"})
"""Keys without one of which a file is about a model, a mesh or a sampler."""
_ADAM = {
    "adam_b1": "optimizer.betas.0",
    "adam_b2": "optimizer.betas.1",
    "adam_eps": "optimizer.eps",
    "adam_weight_decay": "optimizer.weight_decay",
}
_NUMBERS = {
    "learning_rate": "optimizer.learning_rate",
    "per_device_batch_size": "batch.micro_batch_size",
    "max_target_length": "data.sequence_length",
    "init_weights_seed": "seed",
}
_SPLITS = ("tensor", "tensor_transpose", "tensor_sequence", "pipeline", "expert", "autoregressive")


_INHERITED = (
    *("precision.enabled", "precision.compute_dtype", "clipping.kind", "optimizer.name"),
    *("schedule.name", "parallel.kind"),
)
"""Fields of which a base says something, whatever stands in the file above it."""


def _owns(source: Source, keys: frozenset[str]) -> bool:
    """Whether there are enough keys of MaxText, or some beside the base that they are laid over."""
    enough = 2 if "base_config" in keys else _ENOUGH
    return len(keys & _OWN) >= enough and bool(keys & _TRAINING)


def _tell(writer: SettingWriter, tree: Tree) -> None:
    get = tree.setting
    writer.tell("framework", "jax", origin="presence")
    writer.tell("zero_grad.where", "functional", origin="presence")
    for key, field in _NUMBERS.items():
        writer.number(field, get(key))
    _precision(writer, get("dtype"), get("weight_dtype"), get("quantization"))
    _optimizer(writer, tree)
    _schedule(writer, tree)
    tell_clip(writer, get("gradient_clipping_threshold"))
    by_batch = get("use_tunix_gradient_accumulation")
    divided = "library" if by_batch is not None and by_batch.switch else "token_normalised"
    tell_window(writer, get("gradient_accumulation_steps"), divided=divided)
    policy = get("remat_policy")
    if policy is not None:
        word = "none" if policy.text in ("none", "") else "yes"
        writer.tell("activation_checkpointing", word, policy)
    _parallel(writer, tree)
    spikes = get("skip_step_on_spikes")
    if spikes is not None and spikes.switch:
        message = "updates with a loss or norm far from the mean are left out; no recipe does that"
        writer.warn("CC911", message, spikes, hint="the recipe takes every update")
    base = get("base_config")
    if base is not None:
        writer.mention(base.text)
        _of_base(writer, base)


def _of_base(writer: SettingWriter, base: Setting) -> None:
    """Record that the base decides what is not said; it was laid below where it is there."""
    said = {fact.field for fact in writer.facts}
    for field in _INHERITED:
        if field not in said:
            writer.tell(field, "inherit", base)
    for field in ("accumulation.steps", "batch.micro_batch_size", "seed"):
        if field not in said:
            writer.unknown(field, f"{base.text} says it", base)


def _precision(
    writer: SettingWriter, dtype: Setting | None, weights: Setting | None, quantized: Setting | None
) -> None:
    """Record the type of activations; weights of another type than float32 are no recipe's."""
    if dtype is not None:
        tell_precision(writer, dtype, scaled_by="none")
    if weights is not None and TYPES.get(weights.text) in HALVES:
        reason = "weights and moments are stored in a half type"
        writer.facts = [fact for fact in writer.facts if fact.field != "precision.mode"]
        writer.unknown("precision.mode", reason, weights, text=weights.text)
    if quantized is not None and quantized.text:
        message = f"matmuls are computed in {quantized.text}; no recipe does that"
        writer.warn("CC911", message, quantized, hint="the recipe says the type of activations")


def _optimizer(writer: SettingWriter, tree: Tree) -> None:
    kind = tree.setting("opt_type")
    if kind is None:
        return
    if kind.text == "adam_pax":
        writer.tell("optimizer.source_name", kind.text, kind)
        writer.unknown("optimizer.name", "its bias correction is another one", kind, text=kind.text)
        return
    family = tell_optimizer(writer, kind)
    if not family:
        writer.unknown("optimizer.name", f"a recipe has no {kind.text}", kind, text=kind.text)
        return
    if family != "adamw":
        return
    root = tree.setting("adam_eps_root")
    inside = root is not None and bool(root.number)
    for key, field in _ADAM.items():
        if field == "optimizer.eps" and inside:
            writer.unknown(field, "another one stands inside of the root", root)
        else:
            writer.number(field, tree.setting(key))
    mask = tree.get("adamw_mask")
    if mask is not None:
        spared = mask.as_setting("adamw_mask")
        if mask.items:
            writer.unknown("optimizer.no_decay", "patterns of names are spared", spared)
        else:
            writer.tell("optimizer.no_decay", "no", spared)


def _schedule(writer: SettingWriter, tree: Tree) -> None:
    """Record a rise, a fall to a share of the rate, and the steps that both take."""
    get = tree.setting
    kind, steps = get("lr_schedule_type"), get("steps")
    length = get("learning_rate_schedule_steps")
    if length is not None and (length.number or 0) < 0:
        length = steps
    share = get("warmup_steps_fraction")
    final = get("learning_rate_final_fraction") or get("cosine_learning_rate_final_fraction")
    if kind is None and share is None and final is None:
        return
    if kind is None or kind.text == "cosine":
        writer.tell("schedule.name", "cosine", kind or final or share)
    else:
        reason = "the rate stays between its rise and its fall"
        writer.unknown("schedule.name", reason, kind, text=kind.text)
    writer.tell("schedule.stepped_per", "step", kind or final or share, origin="presence")
    total = length.number if length is not None else None
    if total is not None and total > 0:
        writer.tell("schedule.total_steps", int(total), length, confidence="likely")
    _warmup(writer, share, length)
    rate = get("learning_rate")
    if rate is not None and final is not None and None not in (rate.number, final.number):
        end = float(f"{float(rate.number or 0) * float(final.number or 0):.12g}")
        writer.tell("recipe.schedule.end_lr", end, rate, final, origin="derived")


def _warmup(writer: SettingWriter, share: Setting | None, length: Setting | None) -> None:
    if share is None or share.number is None:
        return
    writer.tell("schedule.has_warmup", "yes" if share.number else "no", share)
    if not share.number:
        return
    total = length.number if length is not None else None
    if total is not None and total > 0:
        told = f"{int(total * share.number)} steps"
        writer.tell("schedule.warmup", told, share, length, origin="derived")
    else:
        writer.tell("schedule.warmup", f"{share.number} of all", share)


def _parallel(writer: SettingWriter, tree: Tree) -> None:
    """Record how the axes of the mesh are used: -1 takes what the others leave."""
    used = {
        key.removeprefix("ici_").removeprefix("dcn_").removesuffix("_parallelism"): setting
        for key in tree.keys or {}
        if key.startswith(("ici_", "dcn_")) and key.endswith("_parallelism")
        if (setting := tree.setting(key)) is not None and setting.number not in (0, 1, None)
    }
    sharded = next((used[axis] for axis in used if axis.startswith("fsdp")), None)
    split = next((used[axis] for axis in used if axis in _SPLITS), None)
    if sharded is not None:
        writer.tell("parallel.kind", "fsdp", sharded)
    elif split is not None or used:
        writer.tell("parallel.kind", "mesh", split or next(iter(used.values())))
    if used:
        reason = "the launch decides on how many machines it runs"
        writer.unknown("parallel.nodes", reason, next(iter(used.values())))


READER = YamlFormat("maxtext_yaml", _owns, _tell)
