"""Facts to the sections of a recipe about the course of a run: schedule, batch, processes, data."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import get_args

from crosscast.recipe.document import Schedule
from crosscast_reading.facts.fact import Fact, Layer
from crosscast_reading.lift.frameworks import UNSAID, backend_for
from crosscast_reading.lift.library_defaults import Found
from crosscast_reading.lift.precedence import words
from crosscast_reading.lift.recipe_draft import Draft
from crosscast_reading.lift.step_sections import Look, number, word

_FALLING = ("linear", "cosine", "polynomial")
_SCHEDULES = get_args(Schedule.model_fields["name"].annotation)
_VAGUE = ("elsewhere", "caller", "library_default", "inherit", "selectable", None)
_FORMS = {
    "ahead": "the schedule counts its steps from 1; that of a recipe from 0",
    "early": "the warm-up ends one step before the fall begins; that of a recipe with it",
    "logarithmic": "the warm-up is logarithmic; that of a recipe is linear",
    "behind": "each rate comes one step later than in a recipe",
    "flat": "the warm-up keeps one rate; that of a recipe rises",
    "apart": "the next schedule begins at another step than that at which the warm-up ends",
    "product": "the warm-up and the fall are multiplied; in a recipe, one follows the other",
    "jump": "the warm-up ends at another rate than that from which the schedule goes on",
}
"""Warm-ups that a recipe does not have."""
_END_HINT = "the rates around its end and after it differ from those of the source"
_FORM_HINTS = {
    "ahead": "all rates are those of the source one step later",
    "behind": "all rates are those of the source one step earlier",
    "apart": _END_HINT,
    "jump": _END_HINT,
}
"""What that means for the rates, if not until the end of the warm-up."""
SCHEDULE_COUNTS = "the schedule counts"
"""Start of what is said of a schedule that does not count updates."""
_PLACEHOLDER_STEPS = 1000
_PLACEHOLDER_ROWS = 8
_ROW_LENGTH = 128
"""Tokens of a row where a recipe says nothing."""
_BY_OTHERS = frozenset({"library", "caller", "inherit"})
_ALONE = _BY_OTHERS | {"none"}
_BESIDES = {
    "grouped_rows": ("data.shuffle", "rows of like length stand together in a batch"),
    "embedding_noise": ("model", "noise is added to the embeddings while it trains (NEFTune)"),
    "idle_loss_scale": ("loss_scaling", "a loss scale without half precision"),
    "moved_weights": ("optimizer", "weights are moved for a second pass and moved back (SAM, FGM)"),
}
_SPLIT = frozenset({"megatron", "fsdp", "deepspeed_zero3", "fleet_hybrid"})
"""Ways to train that also split the model or its weights."""
_BY_FLAG = frozenset({"tpu", "strategy_by_flag", "mesh"})
"""Ways to train on several devices that programs also name where they train on one."""
_WARMS = re.compile(r"[\w.]{0,60}warm_?up\w{0,60}(?: *(?:>|!=) *0(?:\.0*)?)?", re.I)
"""The condition that there is a warm-up."""
_OF_ENCODER = ("model.labels", "model.layer_norm_eps")
"""What a launch may say of a model whose sizes stand in a file that was not given."""


def schedule(look: Look, draft: Draft) -> None:
    """Fill `schedule`."""
    decay, warmup = look("schedule.name"), look("schedule.warmup")
    warms = look("schedule.has_warmup")
    name = "inverse_sqrt" if word(decay) == "noam" else word(decay)
    if decay is None and warmup is None and word(warms) != "yes":
        draft.nothing("schedule.name", "constant", "schedule", "nothing changes the rate")
    elif decay is None:
        draft.nothing("schedule.name", "constant", "schedule", "no fall after the warm-up")
    elif name in _SCHEDULES:
        _fill_name(str(name), decay, warmup, draft)
    elif name in _VAGUE:
        note = (decay.expression or decay.reason or str(name)).replace("_", " ")
        draft.assume("schedule.name", "constant", note, decay)
    else:
        shown = str(name).replace("_", " ")
        draft.note("CC911", "schedule", f"the schedule is {shown}; a recipe cannot say that", decay)
        draft.assume("schedule.name", "constant", f"in place of {shown}", decay)
    total, per = look("schedule.total_steps"), look("schedule.stepped_per")
    unit = {"epoch": "epochs", "micro": "micro-batches"}.get(str(word(per)), "")
    steps = number(total)
    if steps is not None and steps >= 1 and unit:
        note = f"{int(steps)} {unit}: {int(steps)} * rows / rows of an update"
        if unit != "epochs":
            note = f"{int(steps)} {unit}"
        draft.assume("schedule.total_steps", _PLACEHOLDER_STEPS, note, total)
    elif steps is not None and steps >= 1 and per is not None and not per.known:
        note = "whether it counts updates was not read"
        draft.assume("schedule.total_steps", int(steps), note, per)
    elif steps is not None and steps >= 1:
        draft.put("schedule.total_steps", int(steps), total)
    else:
        draft.assume("schedule.total_steps", _PLACEHOLDER_STEPS, _why_open(total, look), total)
    if warmup is not None:
        _warmup(warmup, draft)
    elif word(warms) == "yes":
        note = "the rate warms up; how long is not known"
        draft.assume("schedule.warmup_steps", 0, note, warms)
    else:
        _without_warmup(warms, draft)
    _fit(warmup, draft)
    form = look("schedule.warmup_form")
    if message := _FORMS.get(str(word(form))):
        hint = "until its end the rates differ from those of the source"
        hint = _FORM_HINTS.get(str(word(form)), hint)
        draft.note("CC911", "schedule.warmup_steps", message, form, hint)
    if unit:
        hint = "the schedule of a recipe counts updates: convert its lengths"
        draft.note("CC911", "schedule", f"{SCHEDULE_COUNTS} {unit}", per, hint)
    skip = look("schedule.on_skip")
    if word(skip) in ("steps", "guarded"):
        draft.put("schedule.tick", "attempt" if word(skip) == "steps" else "update", skip)


def _why_open(total: Fact | None, look: Look) -> str:
    """Return why the length of a run is not known, and what it is computed from."""
    epochs = number(look("run.epochs"))
    text = total.expression if total is not None else ""
    why = f"{text} is not known" if text else "not in the source"
    if epochs is None:
        return why
    count = f"{epochs:g} epochs: {epochs:g} * rows / rows of an update"
    return f"{why}: {count}" if text else count


def _fill_name(name: str, decay: Fact, warmup: Fact | None, draft: Draft) -> None:
    """Fill the name of a schedule, which some programs have only with a warm-up."""
    draft.put("schedule.name", name, decay)
    if not decay.under or draft.is_assumed("schedule.name"):
        return
    lengths = warmup_length(word(warmup)) if warmup is not None else (None, None)
    known = [length for length in lengths if length is not None]
    if known and all(map(_WARMS.fullmatch, decay.under)):
        note = decay.under[0]
        if not known[0]:
            draft.put("schedule.name", "constant", decay, how="derived", note=f"only if {note}")
        return
    draft.assume("schedule.name", name, f"only if {' and '.join(decay.under)}", decay)


def _without_warmup(warms: Fact | None, draft: Draft) -> None:
    """Say that there is no warm-up, as sure as the schedule is."""
    name = draft.fields["schedule.name"]
    if word(warms) == "no":
        draft.put("schedule.warmup_steps", 0, warms)
    elif name.how != "assumed":
        draft.fields["schedule.warmup_steps"] = replace(name, value=0, note="no warm-up")
    else:
        draft.fields["schedule.warmup_steps"] = replace(name, value=0)


def course(draft: Draft) -> None:
    """Fill what a falling schedule needs besides, where no source says it."""
    name, warmup = draft.value("schedule.name"), draft.fields.get("schedule.warmup_steps")
    warms = "schedule.warmup_ratio" in draft.fields or (
        warmup is not None and (warmup.value > 0 or warmup.how == "assumed")
    )
    if draft.is_assumed("schedule.name"):
        return
    places = draft.fields["schedule.name"].places
    if name in _FALLING:
        note = "where it ends was not read"
        draft.stand_in("schedule.end_lr", 0.0, note, places=places)
        if name == "polynomial":
            draft.stand_in("schedule.power", 1.0, "its power was not read", places=places)
        if warms:
            note = "whether it falls from the end of the warm-up or from step 0 was not read"
            draft.stand_in("schedule.decay_from", "warmup_end", note, places=places)
    scaled = draft.value("loss_scaling.mode") != "none"
    if scaled and (name != "constant" or warms):
        note = "whether a skipped step moves it on was not read"
        draft.stand_in("schedule.tick", "update", note, places=places)


def _warmup(fact: Fact, draft: Draft) -> None:
    steps, share = warmup_length(word(fact))
    if steps is not None:
        draft.put("schedule.warmup_steps", steps, fact)
    elif share is not None:
        draft.put("schedule.warmup_ratio", share, fact)
    else:
        note = f"{fact.expression or fact.value} is not known"
        draft.assume("schedule.warmup_steps", 0, note, fact)


def _fit(warmup: Fact | None, draft: Draft) -> None:
    """Make stand-ins consistent with facts: a schedule is longer than its warm-up."""
    steps = draft.value("schedule.warmup_steps") or 0
    if draft.value("schedule.name") == "inverse_sqrt" and not steps:
        draft.without("schedule.warmup_ratio")
        draft.assume("schedule.warmup_steps", 1, "it needs a warm-up", warmup)
    total = draft.fields["schedule.total_steps"]
    if total.how == "assumed" and total.value < steps:
        draft.fields["schedule.total_steps"] = replace(total, value=10 * steps)


def warmup_length(value: object) -> tuple[int | None, float | None]:
    """Return steps and share that a warm-up says: `100`, `0.1`, `100 steps`, `ratio 0.1`."""
    if isinstance(value, str):
        numbers = re.findall(r"\d+(?:\.\d+)?(?:[eE]-?\d+)?", value)
        if len(numbers) != 1 or "epoch" in value or re.search(r"[a-z_]\.|[(*/]", value):
            return None, None
        value = float(numbers[0]) if re.search(r"[.eE]", numbers[0]) else int(numbers[0])
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        return None, None
    if isinstance(value, int) or value == int(value):
        return int(value), None
    return (None, value) if value < 1 else (None, None)


def batch(look: Look, draft: Draft) -> None:
    """Fill `batch` and `distributed`."""
    _parallel(look, draft)
    micro, whole = look("batch.micro_batch_size"), look("batch.global_batch_size")
    rows, all_rows = number(micro), number(whole)
    if rows is not None and rows >= 1:
        draft.put("batch.micro_batch_size", int(rows), micro)
    elif all_rows is not None and all_rows >= 1:
        nodes = draft.value("distributed.nodes") or 1
        steps = draft.value("accumulation.steps") * nodes
        steps *= draft.value("distributed.processes_per_node")
        each, left = divmod(int(all_rows), steps)
        if not left and each:
            note = f"{int(all_rows)} rows of an update"
            draft.put("batch.micro_batch_size", each, whole, how="derived", note=note)
            parts = ("accumulation.steps", "distributed.processes_per_node", "distributed.nodes")
            if any(draft.is_assumed(part) for part in parts):
                draft.assume("batch.micro_batch_size", each, note, whole)
    if "batch.micro_batch_size" not in draft.fields:
        text = micro.expression if micro is not None else ""
        note = f"{text} is not known" if text else "not in the source"
        draft.assume("batch.micro_batch_size", _PLACEHOLDER_ROWS, note, micro)


def _parallel(look: Look, draft: Draft) -> None:
    kind, size = look("parallel.kind"), look("parallel.world_size")
    machines = look("parallel.nodes")
    if machines is not None and not machines.known:
        draft.assume("distributed.nodes", 1, machines.reason, machines)
    kinds = set(words(kind.value)) if kind is not None and kind.known else set()
    if split := kinds & _SPLIT:
        message = f"{', '.join(map(str, sorted(map(str, split))))} also splits the model"
        draft.note("CC911", "distributed", message, kind)
    processes = number(size)
    apart = kinds == {"none"}
    if processes is not None and processes > 1 and not apart:
        draft.put("distributed.strategy", "data_parallel", kind or size)
        draft.put("distributed.processes_per_node", int(processes), size)
        spread(look, draft)
        return
    if kinds - _ALONE and kinds <= _BY_FLAG:
        draft.assume("distributed.strategy", "none", ", ".join(sorted(map(str, kinds))), kind)
        draft.assume("distributed.processes_per_node", 1, "the launch decides", size or kind)
        return
    if kinds - _ALONE:
        draft.put("distributed.strategy", "data_parallel", kind)
        if processes is not None and size is not None and size.layer is Layer.LAUNCHER:
            draft.put("distributed.processes_per_node", 1, size)
        else:
            note = "the launch decides"
            draft.assume("distributed.processes_per_node", 1, note, size or kind)
        return
    if apart and kind is not None and kind.places:
        draft.put("distributed.strategy", "none", kind)
        draft.put("distributed.processes_per_node", 1, kind)
        return
    if kinds & _BY_OTHERS:
        draft.stand_in("distributed.strategy", "none", "one process, unless the launch starts more")
        draft.stand_in("distributed.processes_per_node", 1, "the launch decides")
    draft.nothing("distributed.strategy", "none", "processes", "one process")
    draft.nothing("distributed.processes_per_node", 1, "processes", "one process")


def spread(look: Look, draft: Draft) -> None:
    """Divide the processes by the machines that a launch names, if they are so many."""
    fact = look("parallel.nodes")
    nodes, whole = number(fact), draft.fields.get("distributed.processes_per_node")
    if nodes is None or nodes <= 1 or whole is None or whole.value % nodes:
        return
    draft.put("distributed.nodes", int(nodes), fact)
    each = replace(whole, value=int(whole.value // nodes))
    draft.fields["distributed.processes_per_node"] = each


def rest(look: Look, draft: Draft) -> None:
    """Fill what a recipe needs besides: seed, average of the weights, model, data."""
    seed, average = look("seed"), look("ema.decay")
    if (value := number(seed)) is not None and 0 <= value < 2**31:
        draft.put("seed", int(value), seed)
    elif seed is not None:
        draft.assume("seed", 0, f"{seed.expression or seed.value} is not known", seed)
    draft.default("seed", 0, Found("no seed in the source: default of recipes", certain=True))
    if (decay := number(average)) is not None and 0 <= decay < 1:
        draft.put("ema.decay", float(decay), average)
    elif average is not None:
        unread = average.reason or "the decay is not known"
        note = f"{average.expression} is not known" if average.expression else unread
        draft.assume("ema.decay", None, note, average)
    draft.nothing("ema.decay", None, "average", "no average of the weights")
    recompute = look("activation_checkpointing")
    if word(recompute) == "yes":
        draft.note(
            "CC912",
            "activation_checkpointing",
            "activations are computed again",
            recompute,
            "a recipe can say so for the shipped BERT only; your own model does it inside",
        )
    besides = look("run.besides")
    for name in words(besides.value) if besides is not None and besides.known else ():
        path, message = _BESIDES[str(name)]
        draft.note("CC911", path, message, besides)
    backend = backend_for(str(word(look("framework")) or UNSAID))
    draft.stand_in("model.kind", "custom", "name the function that builds your model")
    if draft.value("model.kind") == "custom" and not draft.has("model.factory."):
        draft.without(*_OF_ENCODER)
        draft.stand_in(f"model.factory.{backend}", "your_module:build_model")
    elif draft.value("model.kind") == "bert":
        draft.stand_in("model.labels", 2, "not in the source")
    own = draft.value("model.kind") == "custom"
    how = "numpy.savez: an array for each input and the labels" if own else "`crosscast data`"
    draft.stand_in("data.source", "npz", f"write your rows with {how}")
    if draft.value("data.source") == "npz":
        draft.stand_in("data.train", "data/train.npz")
        draft.stand_in("data.eval", "data/eval.npz")
    shuffled = look("data.shuffle")
    if word(shuffled) in ("yes", "no"):
        draft.put("data.shuffle", word(shuffled) == "yes", shuffled)
    elif shuffled is not None:
        note = f"{shuffled.expression} is not known: {shuffled.reason}"
        draft.assume("data.shuffle", True, note, shuffled)
    draft.stand_in("data.shuffle", True, "whether the rows are shuffled was not read")
    length = look("data.sequence_length")
    if (tokens := number(length)) is not None and 1 <= tokens <= 2**16:
        draft.put("data.sequence_length", int(tokens), length)
    positions = draft.value("model.max_positions")
    if positions is not None and positions < _ROW_LENGTH:
        draft.stand_in("data.sequence_length", positions, "as long as the model allows")
