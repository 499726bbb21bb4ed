"""Facts to the sections of a recipe about precision, loss scaling, accumulation and clipping."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from crosscast.facts.fact import Fact
from crosscast.facts.vocabulary import HALVES
from crosscast.lift.precedence import Settlement, words
from crosscast.lift.recipe_draft import Draft

Look = Callable[[str], Fact | None]
_TAILS = {
    "leak": "carry",
    "carried_over": "carry",
    "dropped": "drop",
    "not_consumed": "drop",
    "stepped": "flush",
}
_SCALES = (
    *("init_scale", "min_scale", "max_scale", "growth_interval", "growth_factor"),
    *("backoff_factor", "hysteresis"),
)
_WHOLE = ("growth_interval", "hysteresis")


def looking(settled: Settlement) -> Look:
    """Return what finds the fact that counts of a field without subjects."""

    def look(name: str) -> Fact | None:
        found = settled.get((name, ""))
        return found.fact if found else None

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
    if dtype is None and word(enabled) == "always" and len(halves) == 1:
        dtype, chosen = halves[0], kinds
    if dtype == "bf16_or_fp16":
        draft.note("CC912", "precision", "the device decides between bfloat16 and float16", chosen)
        dtype = "bfloat16"
    if dtype in HALVES:
        mode = look("precision.mode")
        if mode is not None and not mode.known:
            draft.put("precision.mode", "full", mode, how="stand_in")
        else:
            draft.put("precision.mode", word(mode) or "mixed", mode or chosen)
        draft.put("precision.compute_dtype", dtype, chosen)
    elif dtype == "float32" or word(enabled) == "never":
        draft.put("precision.mode", "none", chosen or enabled, note=_switch(enabled, halves))
        draft.put("precision.compute_dtype", "float32", chosen or enabled)
    elif enabled is not None or halves:
        fact = enabled or kinds
        draft.put("precision.mode", "none", fact, how="stand_in", note=_switch(enabled, halves))
        draft.put("precision.compute_dtype", "float32", fact, how="stand_in")
        which = " or ".join(map(str, halves)) or "a half type"
        hint = f"if it runs in {which}, write `mode: mixed` and `compute_dtype`"
        draft.note("CC912", "precision", "who starts it decides about half precision", fact, hint)
    else:
        draft.absent("precision.mode", "none", "no half precision in the source")
        draft.absent("precision.compute_dtype", "float32", "")
    if (tf32 := look("precision.tf32")) is not None and tf32.known:
        draft.put("precision.tf32", tf32.value == "yes", tf32)


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
        note = "off, as half precision is" if mode and kind != "none" else "no loss scale"
        draft.put("loss_scaling.mode", "none", mode, how="absent", note=note)
        return
    half = draft.value("precision.compute_dtype")
    if kind == "static":
        scale = look("loss_scaling.scale") or look("loss_scaling.init_scale")
        draft.put("loss_scaling.mode", "static", mode)
        if (value := number(scale)) is not None:
            draft.put("loss_scaling.scale", float(value), scale)
        else:
            draft.stand_in("loss_scaling.scale", 128.0, "the source does not show the number")
        return
    if kind == "none" or (mode is None and half == "bfloat16"):
        draft.put("loss_scaling.mode", "none", mode, how="source" if mode else "absent")
        return
    if mode is None or kind in (None, "caller", "inherit", "selectable", "env_default"):
        draft.put("loss_scaling.mode", "dynamic", mode, how="stand_in")
        if half != "float16":
            draft.put("loss_scaling.mode", "none", mode, how="stand_in")
            return
    elif kind == "library" and half == "bfloat16":
        draft.put("loss_scaling.mode", "none", mode, note="the library scales float16 only")
        return
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


def accumulation(look: Look, draft: Draft) -> None:
    """Fill `accumulation`."""
    present, steps = look("accumulation.present"), look("accumulation.steps")
    count = number(steps)
    if word(present) == "no" or (present is None and steps is None):
        draft.absent("accumulation.steps", 1, "no accumulation in the source")
        return
    if count is not None and count >= 1 and count == int(count):
        draft.put("accumulation.steps", int(count), steps)
    elif count == 0:
        draft.put("accumulation.steps", 1, steps, note="0 means off")
    else:
        text = steps.expression if steps is not None else ""
        note = f"{text} is not known" if text else "the number is not known"
        draft.put("accumulation.steps", 1, steps or present, how="stand_in", note=note)
    divided, tail = look("accumulation.loss_divided"), look("accumulation.tail")
    if word(divided) == "token_normalised":
        draft.put("accumulation.normalize_by", "token", divided)
    elif word(divided) in ("yes", "library"):
        draft.put("accumulation.normalize_by", "microbatch", divided)
    elif word(divided) in ("no", "no_by_design", "conditional"):
        message = "losses are added up and not divided; a recipe always means their mean"
        hint = "multiply the learning rate by accumulation.steps to keep the size of the steps"
        draft.note("CC911", "accumulation", message, divided, hint)
    kind = word(tail)
    if kind in _TAILS:
        draft.put("accumulation.tail", _TAILS[str(kind)], tail)
        if kind == "leak":
            message = "gradients left over at the end of an epoch leak into the next window"
            draft.note("CC911", "accumulation.tail", message, tail)


def clipping(look: Look, draft: Draft) -> None:
    """Fill `clipping`."""
    kind, limit = look("clipping.kind"), look("clipping.value")
    norm, value = word(kind), number(limit)
    if norm == "library_default":
        norm = "global_norm"
    if kind is None or (norm in ("none", None) and (kind is None or kind.known)):
        draft.absent("clipping.kind", "none", "no clipping in the source")
        return
    if value is not None and value <= 0:
        draft.put("clipping.kind", "none", limit, note=f"{value:g} means off")
        return
    if norm not in ("global_norm", "value", "per_param_norm"):
        shown = str(norm or kind.expression or kind.reason).replace("_", " ")
        draft.note("CC911", "clipping", f"clipping is {shown}; a recipe cannot say that", kind)
        draft.put("clipping.kind", "none", kind, how="stand_in", note=shown)
        return
    draft.put("clipping.kind", norm, kind)
    name = "clipping.max_value" if norm == "value" else "clipping.max_norm"
    if value is not None:
        draft.put(name, float(value), limit)
        return
    text = limit.expression if limit is not None else ""
    note = f"{text} is not known" if text else "the number is not known"
    draft.put(name, 1.0, limit or kind, how="stand_in", note=note)
