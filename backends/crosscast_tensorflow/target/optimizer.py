"""What the optimizer's templates print: a stock class of Keras where it means the same, or one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crosscast.emit.lowering import slot_names
from crosscast.emit.render import py_literal
from crosscast.plan import predicates
from crosscast.plan.operations import Plan, Step
from crosscast_tensorflow.target.adaptations import TensorflowAdaptation
from crosscast_tensorflow.target.clipping import role_names
from crosscast_tensorflow.target.literals import WIDTH, group_lines
from crosscast_tensorflow.target.stock import stock_call

Form = Literal["sgd", "momentum", "adam", "lamb", "lion", "adafactor"]
Decay = Literal["coupled", "decoupled", "inside"]

_KERAS_TYPE = "keras.optimizers.Optimizer"
_TYPES = {
    "adam": "Adam",
    "adamw": "AdamW",
    "lamb": "LAMB",
    "lion": "Lion",
    "sgd": "SGD",
    "adafactor": "Adafactor",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerView:
    """The optimizer: a class of Keras, or one in the script."""

    op: Step
    call: str
    """The call of a Keras class; empty where the script brings its own."""
    type: str
    form: Form
    """Name of the template with its formula."""
    doc: str
    """Docstring of the function that makes it."""
    title: str
    """Docstring of the class in the script, or the first line of it."""
    why: tuple[str, ...]
    """Further lines: why the class of that name in Keras is not used."""
    constants: tuple[str, ...]
    groups: tuple[str, ...]
    """Assignment of the parameter groups, as lines; none for no groups."""
    slots: tuple[str, ...]
    """Names of its moments."""
    decay: Decay | None
    """How the weights decay; None if none does."""
    roles: tuple[str, ...]
    """What Keras calls the weights that WEIGHT_DECAY does not apply to."""
    by_name: bool
    """Whether weights of unknown layers have these names, too."""
    corrected: bool
    """Whether the bias of the moments is corrected."""
    loop: tuple[str, ...]
    """Head of the loop over the weights, as lines."""

    @property
    def own(self) -> bool:
        """Whether its class is in the script."""
        return not self.call

    @property
    def grouped(self) -> bool:
        """Whether every weight has settings of its own."""
        return bool(self.groups)

    @property
    def rate(self) -> str:
        """The learning rate of a weight, as code."""
        return "rate" if self.grouped else "self.learning_rate"

    @property
    def amount(self) -> str:
        """The decay of a weight, as code."""
        return "decay" if self.grouped else "WEIGHT_DECAY"

    @property
    def condition(self) -> str:
        """Whether a weight decays, as code; empty if all do."""
        if self.grouped:
            return "decay"
        return "decays(weight)" if self.roles else ""


def optimizer_view(plan: Plan) -> OptimizerView:
    """Return the view of the optimizer."""
    step, has = plan.get(Step), plan.adapted.__contains__
    call = stock_call(step) if has(TensorflowAdaptation.STOCK_OPTIMIZER) else ""
    groups = group_lines(step.groups) if has(TensorflowAdaptation.GROUPS) else ()
    form, kind = _form(step), _kind(step)
    own_type = "Momentum" if form == "momentum" else _TYPES[step.optimizer]
    return OptimizerView(
        op=step,
        call=call,
        type=_KERAS_TYPE if call else own_type,
        form=form,
        doc=_doc(plan, kind),
        title=f"{kind}{_title(step)}",
        why=tuple(why for name, why in _WHY.items() if has(name)),
        constants=_constants(step),
        groups=groups,
        slots=slot_names(plan),
        decay=_decay(plan) if predicates.decays(step) else None,
        roles=role_names(step.no_decay) if step.weight_decay else (),
        by_name=has(TensorflowAdaptation.SPARES_BY_NAME),
        corrected=not plan.adapted & _UNCORRECTED,
        loop=_loop(form, grouped=bool(groups)),
    )


def _form(step: Step) -> Form:
    match step.optimizer:
        case "sgd":
            return "momentum" if step.momentum else "sgd"
        case "adamw":
            return "adam"
        case form:
            return form


def _kind(step: Step) -> str:
    if step.optimizer == "sgd" and step.momentum:
        return "SGD with Nesterov momentum" if step.nesterov else "SGD with momentum"
    return _TYPES[step.optimizer]


def _title(step: Step) -> str:
    """Return the end of the docstring of the script's own class, after the kind."""
    if step.optimizer == "sgd":
        if not step.momentum:
            return "."
        inside = step.rate_in_momentum
        return "; the learning rate is part of it." if inside else "; the rate stays out of it."
    if predicates.is_adam(step) and not step.bias_correction:
        return " without bias correction."
    if predicates.is_adam(step) and step.eps_placement == "before_correction":
        return " with epsilon before the bias correction."
    return " in its usual form."


_UNCORRECTED = {TensorflowAdaptation.UNCORRECTED, TensorflowAdaptation.UNCORRECTED_LAMB}
_WHY = {
    TensorflowAdaptation.MOMENTUM_OUTSIDE: "The momentum of keras.optimizers.SGD holds the rates "
    "of past updates (CC324).",
    TensorflowAdaptation.UNCORRECTED: "The class of that name in Keras always corrects (CC375).",
    TensorflowAdaptation.EPSILON_AFTER: "The class of that name in Keras adds epsilon before the "
    "bias correction (CC322).",
    TensorflowAdaptation.WIDE_CORRECTIONS: "The class of that name in Keras rounds its corrections "
    "to float32 (CC332).",
    TensorflowAdaptation.EXACT_BETAS: "The class of that name in Keras rounds the betas to float32 "
    "(CC398).",
    TensorflowAdaptation.ADAPTED_DECAY: "The class of that name in Keras decays beside the adapted "
    "step (CC374).",
    TensorflowAdaptation.EPSILON_FLOOR: "The class of that name in Keras adds epsilon to every "
    "square (CC376).",
}
"""Why the script does not use the class of Keras, where the title does not say it."""


def _doc(plan: Plan, kind: str) -> str:
    step = plan.get(Step)
    if TensorflowAdaptation.GROUPS in plan.adapted:
        return f"{kind}. Rate and weight decay of each weight are those of `settings`."
    if not step.weight_decay:
        return f"{kind}. No weight decay."
    where = "where `decays` says so" if step.no_decay else "on every weight"
    how = {"coupled": "Coupled (L2)", "decoupled": "Decoupled", "inside": "Adapted"}
    return f"{kind}. {how[_decay(plan)]} weight decay {where}."


def _decay(plan: Plan) -> Decay:
    if TensorflowAdaptation.ADAPTED_DECAY in plan.adapted:
        return "inside"
    return "coupled" if TensorflowAdaptation.COUPLED_DECAY in plan.adapted else "decoupled"


def _constants(step: Step) -> tuple[str, ...]:
    named: dict[str, object] = {}
    match step.optimizer:
        case "sgd" if step.momentum:
            named = {"MOMENTUM": step.momentum}
        case "lion":
            named = {"BETAS": step.betas}
        case "adam" | "adamw" | "lamb":
            named = {"BETAS": step.betas, "EPS": step.eps}
        case "adafactor":
            named = {
                "EPS": step.factored_eps,
                "BETA2_DECAY": step.beta2_decay,
                "THRESHOLD": step.clip_threshold,
            }
    if step.weight_decay:
        named["WEIGHT_DECAY"] = step.weight_decay
    return tuple(f"{name} = {py_literal(value)}" for name, value in named.items())


# What the loop over the weights names, beside weight and gradient, and where it comes from.
_MOMENTS: dict[Form, tuple[str, str]] = {
    "momentum": ("buffer", "self.momentum_buffer"),
    "adam": ("(mean, square)", "moments"),
    "lamb": ("(mean, square)", "moments"),
    "lion": ("mean", "self.exp_avg"),
    "adafactor": ("(row, column, variance)", "moments"),
}


def _loop(form: Form, *, grouped: bool) -> tuple[str, ...]:
    """Return the head of the loop over the weights, as lines."""
    names = [("weight", "self.variables"), ("gradient", "gradients")]
    if form in _MOMENTS:
        names.append(_MOMENTS[form])
    if grouped:
        names.append(("(factor, decay)", "self.settings"))
    targets, sources = (", ".join(part) for part in zip(*names, strict=True))
    head = f"        for {targets} in zip("
    line = f"{head}{sources}):"
    return (line,) if len(line) <= WIDTH else (head, f"            {sources}", "        ):")
