"""How the emitted script makes its optimizer."""

from __future__ import annotations

from typing import Any

from crosscast.emit.render import py_literal
from crosscast.plan import predicates
from crosscast.plan.operations import Group, Plan, Step
from crosscast_paddle.own_optimizer import OWN_CLASSES, own_optimizer

_EXEMPT_LAYERS = {"layer_norm": "nn.LayerNorm", "embedding": "nn.Embedding"}
_CLASSES = {
    "adam": "Adam",
    "adamw": "AdamW",
    "lamb": "Lamb",
    "lion": "Lion",
    "adafactor": "Adafactor",
}
_WIDTH = 88


def optimizer_view(plan: Plan) -> dict[str, Any]:
    """Return class, constants and arguments of the optimizer, and the names of its moments.

    `form` is how settings reach some parameters only: `names` (AdamW asks a function about
    generated names), `groups`, or empty. `own` describes a class the script brings itself.
    """
    step = plan.get(Step)
    exempt, decays = _exempt(step), predicates.decays(step)
    patterns = tuple(map(_pattern, step.groups))
    grouped = bool(patterns or (exempt and not _asks_by_name(plan)))
    own = own_optimizer(plan, grouped=grouped, decays=decays)
    view = _stock(step) if own is None else own | {"counts_steps": False}
    form = "groups" if grouped else "names" if exempt else ""
    key = _decay_key(step, own)
    return view | {
        "own": own,
        "math": bool(own and own["math"]),
        "numbered": bool(own and own["numbered"]),
        "form": form,
        "exempt": exempt,
        "patterns": patterns,
        "constants": (*view["constants"], *_decay_constant(step)),
        "arguments": (
            "learning_rate=LEARNING_RATE",
            *view["arguments"],
            *_parameters(form, key, bool(patterns)),
            *_decay_arguments(step, form, key),
        ),
        "doc": _doc(view["cls"], step, bool(exempt)),
    }


def _asks_by_name(plan: Plan) -> bool:
    return plan.get(Step).optimizer == "adamw" and not plan.adapted & OWN_CLASSES


def _decay_key(step: Step, own: dict[str, Any] | None) -> str:
    """Return what weight decay is called in arguments and groups; an own class has its own."""
    if own is not None:
        return "decay" if own["decay"] else "" if own["decoupled"] else "weight_decay"
    return "lamb_weight_decay" if step.optimizer == "lamb" else "weight_decay"


def _decay_constant(step: Step) -> tuple[str, ...]:
    # Defaults of Paddle's AdamW and Lamb are not 0; groups without a decay of their own take it.
    own_default = step.optimizer in ("adamw", "lamb")
    if not predicates.decays(step) and not own_default and not step.groups:
        return ()
    return (f"WEIGHT_DECAY = {py_literal(step.weight_decay)}",)


def _decay_arguments(step: Step, form: str, key: str) -> tuple[str, ...]:
    if form == "names":
        return ("weight_decay=WEIGHT_DECAY", "apply_decay_param_fun=verdicts.get")
    given = key in ("weight_decay", "lamb_weight_decay") and _decay_constant(step)
    return (f"{key}=WEIGHT_DECAY",) if given and form != "groups" else ()


def _parameters(form: str, key: str, patterns: bool) -> tuple[str, ...]:
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


def _stock(step: Step) -> dict[str, Any]:
    if step.optimizer == "sgd":
        return _sgd(step)
    return _adam(step)


def _sgd(step: Step) -> dict[str, Any]:
    view: dict[str, Any] = {"cls": "paddle.optimizer.SGD", "counts_steps": False}
    if not step.momentum:
        return view | {"constants": (), "arguments": ()}
    nesterov = ("use_nesterov=True",) if step.nesterov else ()
    return view | {
        "cls": "paddle.optimizer.Momentum",
        "constants": (f"MOMENTUM = {py_literal(step.momentum)}",),
        "arguments": ("momentum=MOMENTUM", *nesterov),
    }


def _adam(step: Step) -> dict[str, Any]:
    adapt = ("always_adapt=True",) if step.optimizer == "lamb" and step.always_adapt else ()
    return {
        "cls": f"paddle.optimizer.{_CLASSES[step.optimizer]}",
        "constants": (
            f"BETAS = {py_literal(step.betas)}",
            f"EPS = {py_literal(step.eps)}",
        ),
        "arguments": ("beta1=BETAS[0]", "beta2=BETAS[1]", "epsilon=EPS", *adapt),
        "counts_steps": True,
    }


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


def _doc(cls: str, step: Step, exempt: bool) -> str:
    name = cls.removeprefix("paddle.optimizer.")
    if not predicates.decays(step):
        return f"{name}. No weight decay."
    kind = "Coupled (L2)" if step.optimizer in ("sgd", "adam") else "Decoupled"
    if step.optimizer == "lamb":
        kind = "Adapted"
    where = "where `decays` says so" if exempt else "on every parameter"
    if step.groups:
        where = "as GROUPS say"
    return f"{name}. {kind} weight decay {where}."
