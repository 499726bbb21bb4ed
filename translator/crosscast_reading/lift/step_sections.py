"""Facts to the sections of a recipe about precision, loss scaling, accumulation and clipping."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from crosscast_reading.facts.fact import Fact
from crosscast_reading.facts.vocabulary import HALVES
from crosscast_reading.lift.frameworks import framework_of
from crosscast_reading.lift.library_defaults import Found
from crosscast_reading.lift.precedence import Settlement, words
from crosscast_reading.lift.recipe_draft import Draft

Look = Callable[[str], Fact | None]
_TAILS = {
    "leak": "carry",
    "carried_over": "carry",
    "dropped": "drop",
    "not_consumed": "drop",
    "stepped": "flush",
    "renormalized": "flush_renormalized",
}
_SCALES = (
    *("init_scale", "min_scale", "max_scale", "growth_interval", "growth_factor"),
    *("backoff_factor", "hysteresis"),
)
_WHOLE = ("growth_interval", "hysteresis")
_OPEN = (None, "caller", "elsewhere", "inherit", "selectable", "env_default")
"""Ways of scaling the loss of which it is not known what runs."""


_UNLIKE_RECIPE = {
    "other_norm": "by a norm of another type than 2",
    "adaptive": "by limits that follow the norms of the weights",
    "partial": "that of a part of the weights, which `exempt` would have to name",
    "at_times": "left out in some updates",
}
"""Ways of clipping in words."""
_UNDIVIDED = ("no", "no_by_design", "conditional")
"""Words for losses that are added up and not divided, or only sometimes."""


def looking(settled: Settlement) -> Look:
    """Return a function that looks up the settled fact of a field without subjects."""

    def look(name: str) -> Fact | None:
        settled_fact = settled.get((name, ""))
        return settled_fact.fact if settled_fact else None

    return look


def word(fact: Fact | None) -> object:
    """Return the word of a fact; None if it has none."""
    return fact.value if fact is not None and fact.known else None


def number(fact: Fact | None) -> float | int | None:
    """Return the number of a fact; None if it has none."""
    value = word(fact)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def precision(look: Look, draft: Draft) -> None:
    """Fill `precision`."""
    enabled, chosen = look("precision.enabled"), look("precision.compute_dtype")
    kinds = look("precision.dtypes")
    halves = [w for w in words(kinds.value) if w in HALVES] if kinds and kinds.known else []
    dtype = word(chosen)
    if chosen is None and word(enabled) == "always" and len(halves) == 1:
        dtype, chosen = halves[0], kinds
    by_device = dtype == "bf16_or_fp16"
    if by_device:
        draft.note("CC912", "precision", "the device decides between bfloat16 and float16", chosen)
        dtype = "bfloat16"
    level = look("precision.level")
    if dtype in HALVES and level is not None and not level.known:
        note = f"{level.expression} is not known"
        draft.assume("precision.mode", word(look("precision.mode")) or "mixed", note, level)
        draft.assume("precision.compute_dtype", dtype, note, level)
    elif dtype in HALVES:
        mode = look("precision.mode")
        if mode is not None and not mode.known:
            draft.put("precision.mode", "full", mode, how="stand_in")
        else:
            draft.put("precision.mode", word(mode) or "mixed", mode or chosen)
        draft.put("precision.compute_dtype", dtype, chosen)
        if by_device:
            note = "the device decides between bfloat16 and float16"
            draft.assume("precision.compute_dtype", dtype, note, chosen)
    elif dtype == "float32" or word(enabled) == "never":
        draft.put("precision.mode", "none", chosen or enabled, note=_switch(enabled, halves))
        draft.put("precision.compute_dtype", "float32", chosen or enabled)
    elif enabled is not None or halves:
        fact = enabled or kinds
        draft.assume("precision.mode", "none", _switch(enabled, halves), fact)
        draft.assume("precision.compute_dtype", "float32", "as the mode", fact)
        which = " or ".join(map(str, halves)) or "a half type"
        hint = f"if it runs in {which}, write `mode: mixed` and `compute_dtype`"
        draft.note("CC912", "precision", "who starts it decides about half precision", fact, hint)
    elif (mode := look("precision.mode")) is not None and not mode.known:
        draft.assume("precision.mode", "none", mode.reason, mode)
        draft.assume("precision.compute_dtype", "float32", "as the mode", mode)
    else:
        note = "no half precision"
        draft.nothing("precision.mode", "none", "precision", note)
        draft.nothing("precision.compute_dtype", "float32", "precision", note)
    if (tf32 := look("precision.tf32")) is not None and tf32.known:
        draft.put("precision.tf32", tf32.value == "yes", tf32)
    elif tf32 is not None:
        draft.assume("precision.tf32", False, tf32.reason, tf32)
    else:
        _tf32(look, draft)


def _tf32(look: Look, draft: Draft) -> None:
    framework = framework_of(str(word(look("framework"))))
    if framework is not None and framework.tf32 is not None:
        value, since = framework.tf32
        draft.default(
            "precision.tf32", value, Found(f"default of {framework.module} since {since}")
        )
    elif framework is not None:
        draft.stand_in("precision.tf32", False, f"releases of {framework.module} differ")


def _switch(enabled: Fact | None, halves: Sequence[object]) -> str:
    if not halves or enabled is None:
        return ""
    which = " or ".join(map(str, halves))
    return f"{enabled.expression or 'a switch'} makes it {which}"


def loss_scaling(look: Look, draft: Draft) -> None:
    """Fill `loss_scaling`, for what runs by default."""
    mode = look("loss_scaling.mode")
    kind = word(mode)
    if draft.value("precision.mode") == "none":
        _beside_float32(mode, kind, draft)
        return
    half = draft.value("precision.compute_dtype")
    idle = look("loss_scaling.with_bfloat16") if half == "bfloat16" else None
    if word(idle) == "no" and not draft.is_assumed("precision.compute_dtype"):
        draft.put("loss_scaling.mode", "none", idle, note="the scaler is off with bfloat16")
        return
    if half == "bfloat16" and mode is not None and kind not in ("static", "none"):
        _beside_bfloat16(mode, kind, draft)
        return
    if kind == "static":
        scale = look("loss_scaling.scale") or look("loss_scaling.init_scale")
        draft.put("loss_scaling.mode", "static", mode)
        if (value := number(scale)) is not None:
            draft.put("loss_scaling.scale", float(value), scale)
        else:
            draft.stand_in("loss_scaling.scale", 128.0, "the source does not show the number")
        return
    if kind == "none":
        draft.put("loss_scaling.mode", "none", mode)
        return
    if mode is None and half == "bfloat16":
        draft.nothing("loss_scaling.mode", "none", "precision", "no loss scale")
        return
    if mode is None or kind in _OPEN:
        shown = str(kind or (mode.expression if mode else "") or "no scaler was seen")
        draft.assume("loss_scaling.mode", "dynamic", shown.replace("_", " "), mode)
    else:
        draft.put("loss_scaling.mode", "dynamic", mode)
    for name in _SCALES:
        path = f"loss_scaling.{name}"
        fact = look(path)
        value = number(fact)
        if name == "min_scale" and value == 0:
            draft.put(path, None, fact)
        elif value is not None:
            draft.put(path, int(value) if name in _WHOLE else float(value), fact)


def _beside_float32(mode: Fact | None, kind: object, draft: Draft) -> None:
    """Fill the loss scale of a run in float32: there is none, if that is what it runs in."""
    filled = draft.fields["precision.mode"]
    if filled.how == "assumed":
        draft.assume("loss_scaling.mode", "none", "as the precision", places=filled.places)
    elif mode is None:
        draft.fields["loss_scaling.mode"] = replace(filled, value="none", note="no loss scale")
    elif kind == "none":
        draft.put("loss_scaling.mode", "none", mode)
    else:
        note = "off, as half precision is"
        places = (*filled.places, *mode.places)
        draft.put("loss_scaling.mode", "none", mode, how="derived", places=places, note=note)


def _beside_bfloat16(mode: Fact, kind: object, draft: Draft) -> None:
    """Fill the loss scale of a program with a scaler that computes in bfloat16."""
    conditions = " and ".join(filter(None, (*mode.under, mode.expression)))
    if kind == "library":
        draft.put("loss_scaling.mode", "none", mode, note="the library scales float16 only")
    else:
        note = f"on if {conditions}" if conditions else "a scaler, which bfloat16 does not need"
        draft.assume("loss_scaling.mode", "none", note, mode)


def accumulation(look: Look, draft: Draft) -> None:
    """Fill `accumulation`."""
    present, steps = look("accumulation.present"), look("accumulation.steps")
    count = number(steps)
    if word(present) == "no" or (present is None and steps is None):
        draft.nothing("accumulation.steps", 1, "accumulation", "a step for every backward pass")
        return
    if count is not None and count >= 1 and count == int(count):
        draft.put("accumulation.steps", int(count), steps)
        if steps is not None and steps.under and (number(look("parallel.world_size")) or 1) > 1:
            # What is conditional is mostly the division by the number of processes.
            note = f"only if {' and '.join(steps.under)}"
            draft.assume("accumulation.steps", int(count), note, steps)
    elif count == 0:
        draft.put("accumulation.steps", 1, steps, note="0 means off")
    else:
        text = steps.expression if steps is not None else ""
        note = f"{text} is not known" if text else "the number is not known"
        draft.assume("accumulation.steps", 1, note, steps or present)
    divided, tail = look("accumulation.loss_divided"), look("accumulation.tail")
    if word(divided) == "token_normalised":
        draft.put("accumulation.normalize_by", "token", divided)
    elif word(divided) in ("yes", "library"):
        draft.put("accumulation.normalize_by", "microbatch", divided)
    elif word(divided) in _UNDIVIDED:
        message = "losses are added up and not divided; a recipe always means their mean"
        hint = "multiply the learning rate by accumulation.steps to keep the size of the steps"
        draft.note("CC911", "accumulation", message, divided, hint)
        draft.assume("accumulation.normalize_by", "microbatch", "losses are not divided", divided)
    kind = word(tail)
    if kind == "none":
        note = "windows fit into an epoch without a rest"
        draft.put("accumulation.tail", "flush_renormalized", tail, how="derived", note=note)
    elif kind in _TAILS:
        draft.put("accumulation.tail", _TAILS[str(kind)], tail)
        if kind == "leak":
            message = "gradients left over at the end of an epoch leak into the next window"
            draft.note("CC911", "accumulation.tail", message, tail)


def windows(look: Look, draft: Draft) -> None:
    """Fill how losses are divided and what happens to a short window, where no source says it."""
    steps, kind = draft.fields["accumulation.steps"], draft.fields["loss.kind"]
    places = steps.places
    several = steps.value > 1 or steps.how == "assumed"
    if "accumulation.normalize_by" not in draft.fields:
        if several:
            note = "how losses are divided was not read"
            draft.assume("accumulation.normalize_by", "sample", note, places=places)
        elif kind.how == "assumed":
            note = "the loss was not read"
            draft.assume("accumulation.normalize_by", "sample", note, places=kind.places)
        else:
            whole = replace(kind, value="sample", how="derived", note="the mean of a batch")
            draft.fields["accumulation.normalize_by"] = whole
    if "accumulation.tail" in draft.fields:
        return
    left = look("batch.drop_last")
    if word(left) == "no" and word(look("accumulation.loss_divided")) in _UNDIVIDED:
        note = "losses are added up: a short last batch counts less"
        draft.assume("accumulation.tail", "flush", note, left)
        return
    if left is not None and left.known and not several:
        dropped = word(left) == "yes"
        draft.put("accumulation.tail", "drop" if dropped else "flush_renormalized", left)
        return
    if several or left is not None:
        note = "what happens to a short last window was not read"
        draft.assume("accumulation.tail", "flush_renormalized", note, left, places=places)
    else:
        note = "a short last batch is trained on, too"
        draft.nothing("accumulation.tail", "flush_renormalized", "tail", note)


def clipping(look: Look, draft: Draft) -> None:
    """Fill `clipping`."""
    kind, limit = look("clipping.kind"), look("clipping.value")
    norm, value = word(kind), number(limit)
    if norm == "library_default":
        norm = "global_norm"
    if norm == "none" and kind is not None and kind.under:
        draft.put("clipping.kind", "none", kind, note=f"if {' and '.join(kind.under)}")
        return
    if kind is None or (norm in ("none", None) and (kind is None or kind.known)):
        draft.nothing("clipping.kind", "none", "clipping", "no clipping before it")
        return
    if value is not None and value <= 0:
        draft.put("clipping.kind", "none", limit, note=f"{value:g} means off")
        return
    if norm is None:
        draft.assume("clipping.kind", "none", kind.expression or kind.reason, kind)
        return
    if norm not in ("global_norm", "value", "per_param_norm"):
        shown = _UNLIKE_RECIPE.get(str(norm), str(norm).replace("_", " "))
        draft.note("CC911", "clipping", f"clipping is {shown}; a recipe cannot say that", kind)
        draft.assume("clipping.kind", "none", shown, kind)
        return
    if kind.under:
        draft.assume("clipping.kind", norm, f"only if {' and '.join(kind.under)}", kind)
    else:
        draft.put("clipping.kind", norm, kind)
    draft.put("clipping.exempt", [], kind, confidence="likely", note="of all that are given")
    added = number(look("clipping.eps"))
    if added is not None and added >= 0 and norm != "value":
        draft.put("clipping.eps", float(added), look("clipping.eps"))
    name = "clipping.max_value" if norm == "value" else "clipping.max_norm"
    if value is not None:
        draft.put(name, float(value), limit)
        return
    text = limit.expression if limit is not None else ""
    note = f"{text} is not known" if text else "the number is not known"
    draft.assume(name, 1.0, note, limit or kind)
