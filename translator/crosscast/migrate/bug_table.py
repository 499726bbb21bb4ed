"""What findings of lint mean for a recipe: the field they are about, what is emitted instead.

One row a rule. `keep` are values with which a recipe says the mistake itself, as far as it can.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """What becomes of a finding."""

    rule: str
    path: str
    """Field of the recipe that it is about, or its section; empty for none."""
    instead: str
    """What the emitted code does, in words that end a sentence."""
    keep: Values = field(default_factory=dict)
    """What the recipe says if the mistake is kept."""
    correct: Values = field(default_factory=dict)
    """What it says if the mistake is corrected, and the source's own values say it."""
    sums: int = 0
    """The losses of a window count so often by its length: 1 for a sum, -1 if divided twice."""
    by_user: bool = False
    """Whether nobody but the user can say which of two was meant; the recipe is what runs."""


def _bug(rule: str, path: str, instead: str, **more: Any) -> Bug:
    return Bug(rule=rule, path=path, instead=instead, **more)


_NO_SCALE: Values = {"loss_scaling": {"mode": "none"}}
_DYNAMIC: Values = {"loss_scaling": {"mode": "dynamic"}}
_FLOAT32: Values = {
    "precision.mode": "none",
    "precision.compute_dtype": "float32",
    "loss_scaling": {"mode": "none"},
}
_WINDOW = "accumulation.steps"
_MEAN = "accumulation.normalize_by"
_TAIL = "accumulation.tail"
_SCALING = "loss_scaling.mode"
_MIXED = "precision.mode"
_CLIP = "clipping.kind"
_DATA = "data.shuffle"
_SPREAD = "distributed.strategy"

BUGS: Mapping[str, Bug] = {
    bug.rule: bug
    for bug in (
        _bug("CL101", _MEAN, "the losses of a window are averaged", sums=1),
        _bug("CL102", _MEAN, "every loss is divided once", sums=-1),
        _bug("CL103", _TAIL, "a short window has the divisor that the recipe says"),
        _bug("CL104", _WINDOW, "every window has as many micro-batches as the recipe says"),
        _bug("CL105", _TAIL, "what is left over becomes part of a whole window, or its own"),
        _bug("CL106", _TAIL, "a short window is dropped before it is computed, as the recipe says"),
        _bug("CL107", _WINDOW, "the gradients are cleared after every window"),
        _bug("CL108", _WINDOW, "the gradients are cleared only after they were applied"),
        _bug("CL109", _WINDOW, "windows are as long as the flag says", keep={_WINDOW: 1}),
        _bug("CL110", _WINDOW, "every window ends with a step"),
        _bug("CL111", "optimizer.name", "gradients are applied once"),
        _bug("CL112", _MEAN, "all rows of a window weigh as the recipe says"),
        _bug("CL113", _WINDOW, "there is one step a window"),
        _bug("CL114", "", "the sum that is shown keeps no graph"),
        _bug("CL115", "ema.decay", "the average moves once an update"),
        _bug("CL116", _WINDOW, "the script alone accumulates"),
        _bug("CL117", _WINDOW, "the length of a window stays the same", by_user=True),
        _bug("CL118", _TAIL, "the windows run across epochs as the recipe says", by_user=True),
        _bug("CL201", _SCALING, "the loss scale is updated once a window"),
        _bug("CL202", _SCALING, "the loss scale is updated after every window"),
        _bug("CL203", _SCALING, "the loss scale is updated once a window"),
        _bug("CL204", _SCALING, "the step looks for inf and nan, and unscales"),
        _bug("CL205", _SCALING, "gradients are unscaled once"),
        _bug("CL206", _SCALING, "the loss is scaled", keep=_NO_SCALE, correct=_DYNAMIC),
        _bug("CL207", _SCALING, "bfloat16 runs without a loss scale", correct=_NO_SCALE),
        _bug("CL208", _MIXED, "half weights have float32 copies that the optimizer moves"),
        _bug("CL209", _SCALING, "one loss scale lives as long as the training"),
        _bug("CL210", _SCALING, "the loss scale is part of every checkpoint"),
        _bug("CL211", _SCALING, "the loss is scaled before its backward pass"),
        _bug("CL212", "loss_scaling.init_scale", "the scale starts as written", by_user=True),
        _bug("CL213", _SPREAD, "gradients are averaged once a window over all processes"),
        _bug("CL214", _SCALING, "the loss is scaled; the source would have stopped at this name"),
        _bug("CL215", "optimizer.name", "the optimizer of the recipe steps in every window"),
        _bug("CL301", _CLIP, "gradients are clipped after they are unscaled"),
        _bug("CL302", _CLIP, "gradients are clipped after they are unscaled"),
        _bug("CL303", _CLIP, "gradients are clipped once a window, when they are complete"),
        _bug("CL304", _CLIP, "the clipped gradients are those that are applied"),
        _bug("CL305", _CLIP, "the limit stays what it is, whatever the loss scale"),
        _bug("CL306", _CLIP, "gradients are clipped with every precision"),
        _bug("CL307", _CLIP, "gradients are clipped before the step"),
        _bug("CL308", _CLIP, "the gradients that the optimizer sees are clipped"),
        _bug("CL309", _CLIP, "nothing is clipped where the limit is 0"),
        _bug("CL401", _MIXED, "the backward pass runs outside of autocast"),
        _bug("CL402", _MIXED, "autocast is for the device on which the model runs", keep=_FLOAT32),
        _bug("CL403", _MIXED, "types within your model are yours"),
        _bug(
            "CL404",
            "precision.ops.losses",
            "the loss is float32",
            keep={"precision.ops.losses": "compute"},
        ),
        _bug("CL501", "schedule.name", "the rate moves on after the step"),
        _bug("CL502", "schedule.name", "the rate moves on once a window"),
        _bug("CL503", "schedule.total_steps", "lengths count windows", by_user=True),
        _bug("CL504", "schedule.tick", "a skipped step moves the rate as the recipe says"),
        _bug("CL505", "schedule.name", "the rate moves on once a window, not once a process"),
        _bug("CL506", "optimizer.no_decay", "the parameters that the recipe names have no decay"),
        _bug("CL507", "optimizer.name", "decay is the kind that the recipe names", by_user=True),
        _bug("CL601", _SPREAD, "gradients are averaged over processes once a window"),
        _bug("CL602", _SPREAD, "gradients are averaged over processes once a window"),
        _bug("CL603", _DATA, "every process has rows of its own"),
        _bug("CL604", _DATA, "every epoch has an order of its own"),
        _bug("CL605", _CLIP, "gradients are clipped after they are averaged over processes"),
        _bug("CL606", _SPREAD, "gradients are averaged over processes"),
        _bug("CL701", "schedule.name", "the schedule counts windows"),
        _bug("CL702", "ema.decay", "the average moves once an update"),
        _bug("CL703", _SPREAD, "every process accumulates by itself, then they average"),
        _bug("CL704", _SPREAD, "the script keeps the loss scale itself, alike in every process"),
        _bug("CL705", "activation_checkpointing", "what is computed again drops the same values"),
        _bug("CL706", "model.layer_norm_eps", "the epsilon is the one of the recipe"),
        _bug("CL707", "model.kind", "the shipped BERT has the exact GELU"),
        _bug("CL708", _SCALING, "the loss is scaled", keep=_NO_SCALE, correct=_DYNAMIC),
        _bug("CL709", _SCALING, "gradients are unscaled before they are applied"),
        _bug("CL710", _SCALING, "the loss is scaled", keep=_NO_SCALE, correct=_DYNAMIC),
        _bug("CL711", _MIXED, "the model computes in the half type", keep=_FLOAT32),
        _bug("CL712", _CLIP, "gradients are clipped after they are unscaled"),
        _bug("CL713", _SPREAD, "gradients are averaged over processes"),
        _bug("CL714", _MIXED, "there is one way to half precision"),
        _bug("CL715", "precision.ops.losses", "the loss is computed in float32 from the logits"),
        _bug("CL801", _SCALING, "there is one optimizer with one loss scale"),
        _bug("CL802", _SCALING, "the loss scale stays on", keep=_NO_SCALE, correct=_DYNAMIC),
        _bug("CL803", _SCALING, "the loss is scaled from the first window on"),
        _bug("CL804", _SCALING, "half precision and loss scale go together", keep=_NO_SCALE),
        _bug("CL805", _SCALING, "the loss is scaled", keep=_NO_SCALE, correct=_DYNAMIC),
        _bug("CL806", "optimizer.no_decay", "no parameter is left out", keep={}, by_user=True),
        _bug("CL807", _CLIP, "every gradient is clipped by itself, as the recipe says"),
        _bug("CL808", _WINDOW, "windows are as long as asked for", keep={_WINDOW: 1}),
        _bug("CL901", "", "the present API is used"),
        _bug("CL902", "", "the present API is used"),
        _bug("CL903", "", "the present API is used"),
        _bug("CL904", _MIXED, "half precision is on as it was asked for", keep=_FLOAT32),
        _bug("CL905", "", "the present API is used"),
        _bug("CL906", "", "the present API is used"),
        _bug("CL907", "", "no such library takes part"),
        _bug("CL908", "", "nothing of that file is carried"),
        _bug("CL910", "", "the recipe holds what runs by default", by_user=True),
        _bug("CL911", "", "the recipe holds the value that counts", by_user=True),
        _bug("CL912", "", "the recipe holds what runs, whatever the flag says", by_user=True),
        _bug("CL913", "", "the recipe holds the setting that has an effect", by_user=True),
        _bug("CL920", "", "the recipe holds what runs, without the lost flags", by_user=True),
        _bug("CL921", "", "the recipe holds what the program defines", by_user=True),
        _bug("CL922", "", "the recipe holds what the readers make of both", by_user=True),
        _bug("CL923", "", "the recipe holds what the shell makes of the words", by_user=True),
        _bug("CL990", "", "comments are not carried"),
    )
}
