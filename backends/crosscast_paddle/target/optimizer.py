"""How the emitted script makes its optimizer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crosscast.emit.render import py_literal
from crosscast.plan import predicates
from crosscast.plan.operations import Group, Plan, Step
from crosscast_paddle.target.own_optimizer import (
    OWN_CLASSES,
    OwnOptimizerView,
    decoupled,
    own_constants,
    own_optimizer,
)

Form = Literal["", "names", "groups"]
EVERYWHERE = "on every parameter"

_EXEMPT_LAYERS = {"layer_norm": "nn.LayerNorm", "embedding": "nn.Embedding"}
_CLASSES = {
    "adam": "Adam",
    "adamw": "AdamW",
    "lamb": "Lamb",
    "lion": "Lion",
    "adafactor": "Adafactor",
}
_WIDTH = 88


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerView:
    """Class, constants and arguments of the optimizer."""

    op: Step
    cls: str
    doc: str
    own: OwnOptimizerView | None
    """The class, if the script brings it itself."""
    form: Form
    """How settings reach some parameters only: AdamW asks a function about generated names."""
    exempt: tuple[str, ...] = ()
    """The body of `decays`, as lines; none where weight decay applies to everything or nothing."""
    patterns: tuple[str, ...] = ()
    """Elements of GROUPS, as lines."""
    constants: tuple[str, ...]
    arguments: tuple[str, ...]

    @property
    def numbered(self) -> bool:
        """Whether its formulas have the number of the update, and square roots of numbers."""
        return self.own is not None and self.own.numbered

    @property
    def betas(self) -> Literal["", "BETAS"]:
        """The constant with the betas whose powers Paddle keeps; empty for none."""
        return "" if self.own or self.op.optimizer == "sgd" else "BETAS"


def optimizer_view(plan: Plan) -> OptimizerView:
    """Return the view of the optimizer of a dynamic graph."""
    step = plan.get(Step)
    exempt, decays = _exempt(step), predicates.decays(step)
    patterns = tuple(map(_pattern, step.groups))
    grouped = bool(patterns or (exempt and not _asks_by_name(plan)))
    own = own_optimizer(plan, grouped=grouped, decays=decays)
    constants, arguments = stock_settings(step)
    if own is not None:
        constants, arguments = own_constants(own.kind, plan), ()
    form: Form = "groups" if grouped else "names" if exempt else ""
    key = _decay_key(step, own)
    cls = stock_class(step) if own is None else own.cls
    where = "as GROUPS say" if patterns else "where `decays` says so" if exempt else EVERYWHERE
    return OptimizerView(
        op=step,
        cls=cls,
        doc=optimizer_doc(cls, step, where),
        own=own,
        form=form,
        exempt=exempt,
        patterns=patterns,
        constants=(*constants, *decay_constant(step)),
        arguments=(
            "learning_rate=LEARNING_RATE",
            *arguments,
            *_parameters(form, key, bool(patterns)),
            *_decay_arguments(step, form, key),
        ),
    )


def _asks_by_name(plan: Plan) -> bool:
    return plan.get(Step).optimizer == "adamw" and not plan.adapted & OWN_CLASSES


def _decay_key(step: Step, own: OwnOptimizerView | None) -> str:
    """Return the name of weight decay in arguments and groups; an own class has its own."""
    if own is not None:
        return "decay" if own.decay else "" if decoupled(step) else "weight_decay"
    return "lamb_weight_decay" if step.optimizer == "lamb" else "weight_decay"


def decay_constant(step: Step) -> tuple[str, ...]:
    """Return the constant of weight decay, if there is one."""
    # Defaults of Paddle's AdamW and Lamb are not 0; groups without a decay of their own take it.
    own_default = step.optimizer in ("adamw", "lamb")
    if not predicates.decays(step) and not own_default and not step.groups:
        return ()
    return (f"WEIGHT_DECAY = {py_literal(step.weight_decay)}",)


def _decay_arguments(step: Step, form: Form, key: str) -> tuple[str, ...]:
    if form == "names":
        return ("weight_decay=WEIGHT_DECAY", "apply_decay_param_fun=verdicts.get")
    passes_decay = key in ("weight_decay", "lamb_weight_decay") and decay_constant(step)
    return (f"{key}=WEIGHT_DECAY",) if passes_decay and form != "groups" else ()


def _parameters(form: Form, key: str, patterns: bool) -> tuple[str, ...]:
    """Return the argument `parameters` in lines; groups have been made before."""
    if form != "groups":
        return ("parameters=model.parameters()",)
    decay = f', "{key}": d' if key else ""
    if not patterns:
        return (f'parameters=[{{"params": p{decay}}} for d, p in groups.items()]',)
    element = f'{{"params": p{decay}, "learning_rate": f}}'
    source = f"for ({'d' if key else '_'}, f), p in groups.items()"
    line = f"parameters=[{element} {source}]"
    if len(line) + 9 <= _WIDTH:
        return (line,)
    return (f"parameters=[\n            {element}\n            {source}\n        ]",)


def _pattern(group: Group) -> str:
    """Return patterns, decay and factor as a formatter would write them, with a comma."""
    rest = (py_literal(group.weight_decay), py_literal(group.rate_factor))
    patterns = py_literal(group.parameters)
    line = f"    ({', '.join((patterns, *rest))}),"
    if len(line) <= _WIDTH:
        return line
    if len(patterns) + 9 > _WIDTH:
        names = "".join(f"            {py_literal(pattern)},\n" for pattern in group.parameters)
        patterns = f"(\n{names}        )"
    return "    (\n" + "".join(f"        {item},\n" for item in (patterns, *rest)) + "    ),"


def stock_class(step: Step) -> str:
    """Return the name of Paddle's own class."""
    if step.optimizer == "sgd":
        return f"paddle.optimizer.{'Momentum' if step.momentum else 'SGD'}"
    return f"paddle.optimizer.{_CLASSES[step.optimizer]}"


def stock_settings(step: Step) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return constants and arguments of Paddle's own class, but for weight decay."""
    if step.optimizer != "sgd":
        adapt = ("always_adapt=True",) if step.optimizer == "lamb" and step.always_adapt else ()
        constants = (f"BETAS = {py_literal(step.betas)}", f"EPS = {py_literal(step.eps)}")
        return constants, ("beta1=BETAS[0]", "beta2=BETAS[1]", "epsilon=EPS", *adapt)
    if not step.momentum:
        return (), ()
    nesterov = ("use_nesterov=True",) if step.nesterov else ()
    return (f"MOMENTUM = {py_literal(step.momentum)}",), ("momentum=MOMENTUM", *nesterov)


def _exempt(step: Step) -> tuple[str, ...]:
    """Return the body of `decays`, empty where weight decay applies to everything or nothing."""
    if not step.weight_decay or not step.no_decay:
        return ()
    return role_test(step.no_decay)


def role_test(roles: tuple[str, ...]) -> tuple[str, ...]:
    """Return the body of a function of `layer` and `name`: whether none of the roles is held."""
    layers = [layer for role, layer in _EXEMPT_LAYERS.items() if role in roles]
    if not layers:
        return ('return "bias" not in name.split("_")',)
    types = layers[0] if len(layers) == 1 else f"({', '.join(layers)})"
    last = f"return not isinstance(layer, {types})"
    if "bias" not in roles:
        return (last,)
    return ('if "bias" in name.split("_"):  # bias_ih_l0 too', "    return False", last)


def optimizer_doc(cls: str, step: Step, where: str) -> str:
    """Return the docstring of `make_optimizer`, given where weight decay applies."""
    name = cls.removeprefix("paddle.optimizer.")
    if not predicates.decays(step):
        return f"{name}. No weight decay."
    kind = "Decoupled" if decoupled(step) else "Coupled (L2)"
    if step.optimizer == "lamb":
        kind = "Adapted"
    return f"{name}. {kind} weight decay {where}."
