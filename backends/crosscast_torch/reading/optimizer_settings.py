"""The arguments of PyTorch optimizers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast.targets.parameter_words import fields_of, optimizer_words
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.combine import one_of, settled
from crosscast_reading.pysource.values.value import Choice, Known, Unknown, Value
from crosscast_reading.readers.python.fact_writer import FactWriter, content, flag_of, place_of
from crosscast_reading.readers.python.library_calls import yes_or_no
from crosscast_reading.readers.python.parameter_lists import are_all_parameters
from crosscast_torch.reading.groups import Groups, add_later, groups_of
from crosscast_torch.reading.object_names import subject_of
from crosscast_torch.reading.optimizer_names import decay_field

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module

_WORDS = fields_of("torch classes", "optimizer")
_CONSTANTS = ("betas.0", "betas.1", "eps", "momentum")


@dataclass(frozen=True, slots=True)
class OptimizerCall:
    """A call that creates an optimizer."""

    call: Call
    name: str
    """Qualified name of the class; empty if only known at run time."""
    family: str


def tell_settings(
    writer: FactWriter, optimizer: OptimizerCall, subject: str, under: tuple[str, ...]
) -> None:
    """Record rates, betas, epsilon, decay, momentum and groups of an optimizer."""
    call = optimizer.call
    bound = call.bound()
    place = place_of(call)
    coupled = decay_field(optimizer.name) if optimizer.name else "weight_decay"
    if not _decoupled(call):
        coupled = "l2"

    def number(field: str, value: Value | None, node: ast.expr) -> None:
        module = call.module.owner_of(node)
        spans = [place, module.span(node)]
        more = {}
        if isinstance(value, Known) and not value.flag and not isinstance(node, ast.Constant):
            more = {"expression": module.text(node)[:200]}
        writer.number(f"optimizer.{field}", value, *spans, subject=subject, under=under, **more)

    groups = groups_of(bound.get("params") or _first(call), call.module)
    add_later(groups, call, subject_of(call), decays=decay_field(optimizer.name) != "l2")
    for rate in _WORDS["optimizer.learning_rate"]:
        if rate in bound:
            number("learning_rate", call.argument(rate), bound[rate])
            break
    else:
        for value, node, _ in groups.rates[:1]:
            number("learning_rate", value, node)
    for field in _CONSTANTS:
        for name in _WORDS[f"optimizer.{field}"]:
            if name in bound:
                number(field, call.argument(name), bound[name])
                break
    if "betas" in bound:
        _betas(writer, call, bound["betas"], subject, under)
    decay = groups.decay
    if decay is not None:
        number(coupled, decay[0], decay[1])
    elif "weight_decay" in bound:
        number(coupled, call.argument("weight_decay"), bound["weight_decay"])
    if "nesterov" in bound or "nesterov" in call.parameters():
        nesterov = yes_or_no(call.argument("nesterov"))
        if nesterov is not None:
            writer.value("optimizer.nesterov", nesterov, place, subject=subject)
    given = bound.get("params") or _first(call)
    if groups.spared:
        assert groups.place is not None
        span = groups.place[1].span(groups.place[0])
        writer.say("optimizer.no_decay", "yes", span, subject=subject, under=under)
    elif given is not None and are_all_parameters(given, call.module):
        span = call.module.owner_of(given).span(given)
        writer.say("optimizer.no_decay", "no", span, subject=subject, under=under)
    if len({shown for _, shown in _rates(groups)}) > 1:
        spans = [where.span(node) for _, node, where in groups.rates]
        writer.say("optimizer.rate_groups", "yes", *spans, subject=subject, under=under)


def _rates(groups: Groups) -> Iterator[tuple[ast.expr | None, str]]:
    """Yield the rates of the groups, those without one included."""
    yield from ((node, where.text(node)) for _, node, where in groups.rates)
    if len(groups.rates) < groups.count and groups.rates:
        yield None, ""


def _decoupled(call: Call) -> bool:
    """Whether the decay is decoupled: not switched off by `adam_w_mode`."""
    for name in ("adam_w_mode", "adamw_mode"):
        if (mode := call.argument(name)) is not None and content(mode) is False:
            return False
    return True


def _first(call: Call) -> ast.expr | None:
    for given in call.node.args[:1]:
        return None if isinstance(given, ast.Starred) else given
    return None


def _betas(
    writer: FactWriter, call: Call, node: ast.expr, subject: str, under: tuple[str, ...]
) -> None:
    module: Module = call.module.owner_of(node)
    span = module.span(node)
    values: list[Value] = []
    if isinstance(node, ast.Tuple | ast.List):
        values = [evaluate(element, module) for element in node.elts]
    else:
        given = settled(evaluate(node, module))
        if isinstance(given, Choice):
            pairs = [(condition, _both(option)) for condition, option in given.options]
            values = [one_of([(c, pair[index]) for c, pair in pairs]) for index in (0, 1)]
        else:
            values = list(_both(given))
    for index, value in enumerate(values[:2]):
        writer.number(f"optimizer.betas.{index}", value, span, subject=subject, under=under)


def _both(given: Value) -> tuple[Value, Value]:
    """Return the two values of a pair; the value itself for both if it is not known as a pair."""
    match content(given):
        case [first, second]:
            return _item(first, given), _item(second, given)
    return given, given


def _item(item: object, pair: Value) -> Value:
    if isinstance(item, Known | Choice | Unknown):
        return item
    return Known(item, "derived", flag_of(pair))


def tell_from_flags(writer: FactWriter, call: Call, subject: str) -> None:
    """Record the settings that timm's factory takes from its own flags."""
    for name, field in optimizer_words("timm flags").items():
        flag = call.module.program.flags.get(name)
        if flag is not None:
            value = flag.given or flag.default
            if isinstance(value, Known):
                value = Known(value.value, "flag", f"args.{name}")
            writer.number(field, value, flag.span, subject=subject)
