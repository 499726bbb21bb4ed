"""Table of lint rules: the affected recipe field and what the emitted code does instead.

One row per rule. `keep` contains values that express the mistake itself, if a recipe can.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """How the migration treats findings of a rule."""

    rule: str
    path: str
    """The affected field or section of the recipe; empty for none."""
    instead: str
    """What the emitted code does, as a clause."""
    keep: Values = field(default_factory=dict)
    """Values that keep the mistake."""
    correct: Values = field(default_factory=dict)
    """Values that correct the mistake if the source's values express it."""
    sums: int = 0
    """Power of the window length that multiplies the losses: 1 for a sum, -1 if divided twice."""
    scaled: str = ""
    """Field with a limit that is multiplied by the loss scale."""
    by_user: bool = False
    """Whether only the user knows the intention; the recipe then describes what actually runs."""


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
        _bug("CL011", _CLIP, "gradients are clipped before the optimizer uses them"),
        _bug("CL012", "optimizer.weight_decay", "weight decay makes weights smaller"),
        _bug("CL013", "optimizer.name", "the loss goes down"),
        _bug("CL014", _CLIP, "the gradients of a window are clipped together"),
        _bug("CL015", _SCALING, "a window that overflows is left out, and no later one"),
        _bug("CL016", "optimizer.weight_decay", "the optimizer gets the weights"),
        _bug("CL017", "optimizer.name", "the optimizer keeps its moments"),
        _bug("CL018", "", "new weights take the place of the old ones"),
        _bug("CL019", _SPREAD, "gradients are averaged over processes"),
        _bug("CL020", "model.dropout", "dropout draws other masks in every window"),
        _bug("CL021", _SCALING, "an overflow skips the step and lowers the loss scale"),
        _bug("CL022", _SCALING, "the loss scale changes with overflows"),
        _bug("CL023", "optimizer.no_decay", "the parameters to spare are spared", by_user=True),
        _bug("CL024", "", "the current API is used"),
        _bug("CL025", "schedule.total_steps", "the schedule lasts as long as training"),
        _bug("CL026", _MEAN, "the gradients of a window are averaged before the optimizer moves"),
        _bug("CL101", _MEAN, "the losses of a window are averaged", sums=1),
        _bug("CL102", _MEAN, "every loss is divided once", sums=-1),
        _bug("CL103", _TAIL, "the divisor of a short window is the one in the recipe"),
        _bug("CL104", _WINDOW, "every window has the number of micro-batches in the recipe"),
        _bug("CL105", _TAIL, "remaining micro-batches join a full window or form a short one"),
        _bug("CL106", _TAIL, "a short window is dropped before it is computed, as in the recipe"),
        _bug("CL107", _WINDOW, "the gradients are cleared after every window"),
        _bug("CL108", _WINDOW, "the gradients are cleared only after they are applied"),
        _bug("CL109", _WINDOW, "the flag determines the length of a window", keep={_WINDOW: 1}),
        _bug("CL110", _WINDOW, "every window ends with a step"),
        _bug("CL111", "optimizer.name", "gradients are applied once"),
        _bug("CL112", _MEAN, "the rows of a window are weighted as in the recipe"),
        _bug("CL113", _WINDOW, "there is one step per window"),
        _bug("CL114", "", "the logged sum keeps no graph"),
        _bug("CL115", "ema.decay", "the average is updated once per update"),
        _bug("CL116", _WINDOW, "only the script accumulates"),
        _bug("CL117", _WINDOW, "the length of a window is constant", by_user=True),
        _bug("CL118", _TAIL, "windows span epochs as in the recipe", by_user=True),
        _bug("CL119", _WINDOW, "gradients of a window are added up"),
        _bug("CL120", "", "gradients are cleared before each window"),
        _bug("CL121", _MEAN, "every micro-batch of a window is divided by the same number"),
        _bug("CL201", _SCALING, "the loss scale is updated once per window"),
        _bug("CL202", _SCALING, "the loss scale is updated after every window"),
        _bug("CL203", _SCALING, "the loss scale is updated once per window"),
        _bug("CL204", _SCALING, "the step unscales and checks for inf and nan"),
        _bug("CL205", _SCALING, "gradients are unscaled once"),
        _bug("CL206", _SCALING, "the loss is scaled", keep=_NO_SCALE, correct=_DYNAMIC),
        _bug("CL207", _SCALING, "bfloat16 runs without a loss scale", correct=_NO_SCALE),
        _bug("CL208", _MIXED, "the optimizer updates float32 copies of the half weights"),
        _bug("CL209", _SCALING, "one loss scale is used for the whole training"),
        _bug("CL210", _SCALING, "the loss scale is part of every checkpoint"),
        _bug("CL211", _SCALING, "the loss is scaled before its backward pass"),
        _bug(
            "CL212",
            "loss_scaling.init_scale",
            "the scale starts at the value in the source",
            by_user=True,
        ),
        _bug("CL213", _SPREAD, "gradients are averaged over all processes once per window"),
        _bug("CL214", _SCALING, "the loss is scaled; the source would have stopped at this name"),
        _bug("CL215", "optimizer.name", "the optimizer of the recipe steps in every window"),
        _bug("CL301", _CLIP, "gradients are clipped after they are unscaled"),
        _bug("CL302", _CLIP, "gradients are clipped after they are unscaled"),
        _bug("CL303", _CLIP, "complete gradients are clipped once per window"),
        _bug("CL304", _CLIP, "the clipped gradients are applied"),
        _bug(
            "CL305",
            _CLIP,
            "the limit does not depend on the loss scale",
            scaled="clipping.max_norm",
        ),
        _bug("CL306", _CLIP, "gradients are clipped with every precision"),
        _bug("CL307", _CLIP, "gradients are clipped before the step"),
        _bug("CL308", _CLIP, "the gradients that the optimizer uses are clipped"),
        _bug("CL309", _CLIP, "a limit of 0 turns clipping off"),
        _bug("CL401", _MIXED, "the backward pass runs outside of autocast"),
        _bug("CL402", _MIXED, "autocast is set for the device of the model", keep=_FLOAT32),
        _bug("CL403", _MIXED, "dtypes in your model are not changed"),
        _bug(
            "CL404",
            "precision.ops.losses",
            "the loss is float32",
            keep={"precision.ops.losses": "compute"},
        ),
        _bug("CL405", _MIXED, "autocast is around the forward pass", keep=_FLOAT32),
        _bug("CL406", _MIXED, "autocast is around the forward pass", keep=_FLOAT32),
        *(
            _bug(code, "", "dtypes in your model are not changed", by_user=True)
            for code in ("CL407", "CL408", "CL409")
        ),
        _bug("CL501", "schedule.name", "the schedule advances after the step"),
        _bug("CL502", "schedule.name", "the schedule advances once per window"),
        _bug("CL503", "schedule.total_steps", "lengths are counted in windows", by_user=True),
        _bug(
            "CL504",
            "schedule.tick",
            "the recipe determines whether a skipped step advances the schedule",
        ),
        _bug(
            "CL505", "schedule.name", "the schedule advances once per window, not once per process"
        ),
        _bug("CL506", "optimizer.no_decay", "the parameters named in the recipe have no decay"),
        _bug("CL507", "optimizer.name", "the kind of decay is the one in the recipe", by_user=True),
        _bug("CL508", "", "the methods that are called exist"),
        _bug("CL509", "schedule.total_steps", "warm-up and total are in order", by_user=True),
        _bug("CL510", "schedule.tick", "the schedule advances once per update"),
        _bug("CL511", "schedule.name", "the schedule is the one in the recipe", by_user=True),
        _bug("CL512", "schedule.name", "the schedule advances once per update"),
        _bug("CL513", "", "arguments have the names of the library"),
        _bug("CL514", "optimizer.learning_rate", "the rate is the one in the recipe", by_user=True),
        _bug("CL515", "schedule.name", "the schedule is the one in the recipe", by_user=True),
        _bug("CL516", "", "every optimizer is stepped once per update"),
        _bug("CL519", "", "parameters are only changed by their optimizer"),
        _bug("CL520", "", "the gradients of the loss reach the model"),
        _bug("CL521", "", "objects are made whatever the settings are"),
        _bug("CL522", "schedule.warmup_steps", "the warm-up is the recipe's", by_user=True),
        _bug("CL523", _SPREAD, "gradients are averaged over processes"),
        _bug("CL601", _SPREAD, "gradients are averaged over processes once per window"),
        _bug("CL602", _SPREAD, "gradients are averaged over processes once per window"),
        _bug("CL603", _DATA, "every process has different rows"),
        _bug("CL604", _DATA, "every epoch has a different order"),
        _bug("CL605", _CLIP, "gradients are clipped after they are averaged over processes"),
        _bug("CL606", _SPREAD, "gradients are averaged over processes"),
        _bug("CL607", _DATA, "every process has different rows"),
        _bug("CL608", "", "what the program reads of the model is there"),
        _bug("CL610", _SPREAD, "all processes begin with the same weights"),
        _bug("CL701", "schedule.name", "the schedule is counted in windows"),
        _bug("CL702", "ema.decay", "the average is updated once per update"),
        _bug("CL703", _SPREAD, "processes accumulate separately and then average"),
        _bug("CL704", _SPREAD, "the script maintains the same loss scale in every process"),
        _bug("CL705", "activation_checkpointing", "recomputation drops the same values"),
        _bug("CL706", "model.layer_norm_eps", "the epsilon is the one in the recipe"),
        _bug("CL707", "model.kind", "the shipped BERT has the exact GELU"),
        _bug("CL708", _SCALING, "the loss is scaled", keep=_NO_SCALE, correct=_DYNAMIC),
        _bug("CL709", _SCALING, "gradients are unscaled before they are applied"),
        _bug("CL710", _SCALING, "the loss is scaled", keep=_NO_SCALE, correct=_DYNAMIC),
        _bug("CL711", _MIXED, "the model computes in the half type", keep=_FLOAT32),
        _bug("CL712", _CLIP, "gradients are clipped after they are unscaled"),
        _bug("CL713", _SPREAD, "gradients are averaged over processes"),
        _bug("CL714", _MIXED, "half precision is enabled in one way only"),
        _bug("CL715", "precision.ops.losses", "the loss is computed in float32 from the logits"),
        _bug("CL716", _SCALING, "the loss is scaled", keep=_NO_SCALE, correct=_DYNAMIC),
        _bug("CL717", _SCALING, "the loss is scaled", keep=_NO_SCALE, correct=_DYNAMIC),
        _bug("CL718", _SCALING, "the loss is scaled", keep=_NO_SCALE, correct=_DYNAMIC),
        _bug("CL719", _MIXED, "the model computes in the half type", keep=_FLOAT32),
        _bug("CL720", "", "every parameter that the recipe names is trained", by_user=True),
        _bug("CL721", "schedule.name", "the schedule is the one in the recipe", by_user=True),
        _bug("CL722", _MIXED, "the model computes in the half type", keep=_FLOAT32),
        _bug("CL723", _SCALING, "an overflow skips the step and lowers the loss scale"),
        _bug("CL724", "", "every parameter that the recipe names is trained", by_user=True),
        _bug("CL725", "schedule.name", "a continued run goes on with its schedule"),
        _bug("CL801", _SCALING, "there is one optimizer with one loss scale"),
        _bug("CL802", _SCALING, "the loss scale stays on", keep=_NO_SCALE, correct=_DYNAMIC),
        _bug("CL803", _SCALING, "the loss is scaled from the first window on"),
        _bug("CL804", _SCALING, "half precision and loss scale go together", keep=_NO_SCALE),
        _bug("CL805", _SCALING, "the loss is scaled", keep=_NO_SCALE, correct=_DYNAMIC),
        _bug("CL806", "optimizer.no_decay", "no parameter is left out", keep={}, by_user=True),
        _bug("CL807", _CLIP, "every gradient is clipped separately, as in the recipe"),
        _bug("CL808", _WINDOW, "windows have the requested length", keep={_WINDOW: 1}),
        _bug("CL809", "optimizer.lr", "every parameter has the rate in the recipe", by_user=True),
        _bug("CL810", _SCALING, "gradients are unscaled before they are clipped"),
        _bug("CL811", "schedule.name", "the optimizer has the schedule"),
        _bug("CL812", "schedule.name", "the schedule is the one in the recipe", by_user=True),
        _bug("CL813", "optimizer.lr", "every parameter has the rate in the recipe", by_user=True),
        _bug("CL814", "precision.mode", "the model is decorated before it is wrapped"),
        _bug("CL815", _MEAN, "losses are divided by the labels that count"),
        _bug("CL901", "", "the current API is used"),
        _bug("CL902", "", "the current API is used"),
        _bug("CL903", "", "the current API is used"),
        _bug("CL904", _MIXED, "half precision is on, as requested", keep=_FLOAT32),
        _bug("CL905", "", "the current API is used"),
        _bug("CL906", "", "the current API is used"),
        _bug("CL907", "", "the library is not used"),
        _bug("CL908", "", "nothing in that file is migrated"),
        _bug("CL910", "", "the recipe contains what runs by default", by_user=True),
        _bug("CL911", "", "the recipe contains the effective value", by_user=True),
        _bug("CL912", "", "the recipe contains what runs, regardless of the flag", by_user=True),
        _bug("CL913", "", "the recipe contains the effective setting", by_user=True),
        _bug("CL920", "", "the recipe contains what runs, without the lost flags", by_user=True),
        _bug("CL921", "", "the recipe contains what the program defines", by_user=True),
        _bug("CL922", "", "the recipe contains what the readers find in both", by_user=True),
        _bug(
            "CL923",
            "",
            "the recipe contains the result of the shell's word splitting",
            by_user=True,
        ),
        _bug("CL924", "", "the settings that are read exist"),
        _bug("CL925", "", "the recipe contains what the program reads", by_user=True),
        _bug("CL990", "", "comments are not migrated"),
    )
}
