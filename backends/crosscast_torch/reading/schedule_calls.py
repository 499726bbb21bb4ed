"""Calls that create learning rate schedules."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.names.containers import chase, definitions
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.value import Choice, Known, Unknown
from crosscast_reading.readers.python.default_conditions import runs_by_default
from crosscast_reading.readers.python.fact_writer import FactWriter, content, is_number, place_of
from crosscast_reading.readers.python.library_calls import last, parts_of, wrapped
from crosscast_reading.readers.python.rate_curves import (
    RateCurve,
    curve_of_function,
    curve_of_method,
)
from crosscast_reading.readers.python.schedule_parts import SchedulePart, first_rate, part_of_curve
from crosscast_reading.readers.schedule_names import decay_of, decay_of_schedule
from crosscast_torch.reading import schedule_table as table
from crosscast_torch.reading.rate_formulas import (
    Shape,
    head_start,
    results_behind,
    shape_of,
    shape_of_class,
)

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.program import Program

_RISES = {
    "LinearLR": {"start_factor": 1 / 3, "end_factor": 1.0},
    "ConstantLR": {"factor": 1 / 3},
}
"""Schedules that go from one share of the rate to another in 5 steps: arguments and defaults."""
_RATE_WORDS = frozenset({"lr", "lrs", "rate", "rates"})
_OPTIMIZER = re.compile(r"optim|\bopt\b")


def scheduled(program: Program) -> Iterator[SchedulePart]:
    """Yield the schedules that calls create."""
    for module in program.modules:
        for call in module.calls:
            part = schedule_of(call, program)
            if part is not None:
                part.by_default = runs_by_default(call.node, module)
                yield part


def schedule_of(call: Call, program: Program) -> SchedulePart | None:
    """Return the schedule that a call creates."""
    owner = call.module.class_of(call.node)
    if owner is not None and table.is_schedule(owner.name):
        return None
    name = next(filter(table.is_schedule, call.names), "")
    if name and program.function(call) is None:
        return _of_library(call, name)
    if "schedule" in call.bound() and last(call.name).endswith("Adam"):
        return _of_bert(call)
    name = next(map(call.module.resolve, wrapped(call)), call.name)
    word = last(name) or call.method
    if table.FACTORY.fullmatch(word) and program.function(call) is None:
        return None if call.receiver is not None and not call.name else _of_factory(call, program)
    if table.POLICY.fullmatch(word) and program.function(call) is None:
        return _of_policy(call, word, program)
    if table.RATES.fullmatch(word) and program.function(call) is None and _keeps_rates(call):
        shape = shape_by_name(call)
        return SchedulePart(shape.decay, (place_of(call),), shape.warms, confidence="likely")
    function = call.node.func
    if isinstance(function, ast.Name) and "sched" in function.id.lower() and not call.names:
        scope = call.module.scope_of(call.node).lookup(function.id)
        bindings = scope.bindings.get(function.id, []) if scope is not None else []
        if any(binding.kind == "parameter" for binding in bindings):
            return SchedulePart("caller", (place_of(call),))
    return None


def _of_library(call: Call, name: str) -> SchedulePart:
    """Return the schedule of a library class or function."""
    word = last(name)
    place = place_of(call)
    if word in table.BY_ARGUMENTS:
        if word not in table.CHAINS:
            return _of_function(call)
        part = SchedulePart("", (place,), chained=True)
        if word == "SequentialLR":
            part.begins, part.last = _last_step(call), tuple(_last_place(call))
        return part
    if word in table.BY_WORD:
        return _of_word(call)
    if word in _RISES and name.startswith("torch."):
        return _of_rise(call, word)
    curve = _of_own_class(call) if ":" in name else None
    if curve is not None:
        return part_of_curve(curve, shape_of_class(call).decay, (place,))
    bound = call.bound()
    part = SchedulePart(decay_of(name), (place,), confidence=table.confidence(name))
    part.details = tuple(_details(call, name))
    if word == "OneCycleLR":
        part.warms = "pct_start" in bound
    if table.warms_up(name) or not bound.keys().isdisjoint(table.WARMUPS):
        part.rising = not part.decay or "radual" in word
        _add_warmup(part, call)
    if not part.decay and not part.warms:
        shape = shape_of_class(call)
        part.decay, part.warms = shape.decay or _by_style(call), shape.warms
    total = next((argument for argument in table.TOTALS if argument in bound), "")
    if total:
        part.total = _number("schedule.total_steps", call, total)
    return part


def _details(call: Call, name: str) -> Iterator[Fact]:
    """Yield where a schedule ends whose formula is known: its last rate, its power."""
    for field, argument, usual in table.DETAILS.get(name, ()):
        value: object = content(call.argument(argument)) if argument in call.bound() else usual
        if is_number(value):
            yield Fact(
                field=f"recipe.schedule.{field}",
                value=float(value),
                places=(place_of(call),),
                origin="presence",
                reader="torch_schedules",
            )
    if table.warms_up(name) and name in table.DETAILS:
        yield Fact(
            field="recipe.schedule.decay_from",
            value="warmup_end",
            places=(place_of(call),),
            origin="presence",
            reader="torch_schedules",
        )


def _last_step(call: Call) -> int:
    """Return the step at which the last schedule of a sequence begins; 0 if unknown."""
    match content(call.argument("milestones")):
        case [*_, int(step)] | (*_, int(step)):
            return step
    return 0


def _last_place(call: Call) -> Iterator[Span]:
    """Yield where the last schedule of a sequence may be made."""
    given = call.bound().get("schedulers")
    for node, module in chase(given, call.module) if given is not None else ():
        if isinstance(node, ast.List | ast.Tuple) and node.elts:
            for made, where in chase(node.elts[-1], module):
                yield where.span(made)


def _of_function(call: Call) -> SchedulePart:
    """Return the schedule of the function passed to LambdaLR."""
    node = call.bound().get("lr_lambda") or (call.node.args[1] if len(call.node.args) > 1 else None)
    place = place_of(call)
    formulas = list(results_behind(node, call.module)) if node is not None else []
    if node is None or not formulas:
        return SchedulePart("custom", (place,), confidence="likely")
    shape = shape_of(formulas)
    if _is_made_elsewhere(node, call):
        return SchedulePart("selectable", (place,), shape.warms, confidence="likely")
    curve = curve_of_function(node, call.module)
    if curve is not None:
        part = part_of_curve(curve, shape.decay, (place,))
        if part.start is not None and not part.start.known:
            part.start = first_rate(None, (place,), head_start(formulas))
        return part
    decay = shape.decay or "constant"
    if shape.warms and decay == "custom":
        decay = "constant"
    formula = head_start(formulas) if shape.warms else ""
    start = first_rate(None, (place,), formula) if formula else None
    return SchedulePart(decay, (place,), shape.warms, start=start, confidence="guess")


def _of_own_class(call: Call) -> RateCurve | None:
    """Return the curve of the rates that the class of the program returns."""
    for name in call.names:
        method = call.module.program.function_named(f"{name}.get_lr")
        if method is not None:
            return curve_of_method(method[1], method[0])
    return None


def _is_made_elsewhere(node: ast.expr, call: Call) -> bool:
    """Whether a function behind a name is created by code of another file."""
    program = call.module.program
    assignments = [
        binding for binding in definitions(node, call.module) if binding.kind == "assign"
    ]
    return len(assignments) > 1 and any(
        isinstance(binding.value, ast.Call)
        and program.function(binding.module.call(binding.value)) is None
        and binding.module.resolve(binding.value.func) != "functools.partial"
        for binding in assignments
    )


def _by_style(call: Call) -> str:
    """Return the decay that an argument names, for a class that implies none."""
    for argument in table.STYLES:
        if argument in call.bound():
            word = str(content(call.argument(argument))).lower()
            return decay_of_schedule(word) or "selectable"
    return "custom" if ":" in call.name else "elsewhere"


def _of_rise(call: Call, word: str) -> SchedulePart:
    """Return the schedule of LinearLR or ConstantLR: a warm-up if it rises, as by default."""
    bound = call.bound()
    first, *rest = (
        content(call.argument(name)) if name in bound else usual
        for name, usual in _RISES[word].items()
    )
    final = rest[0] if rest else 1.0
    place = (place_of(call),)
    if word == "ConstantLR" and first == 1:
        return SchedulePart("constant", place)
    if is_number(first) and is_number(final) and first >= final:
        return SchedulePart("linear" if rest else "custom", place)
    part = SchedulePart("", place, warms=True, rising=True, form="" if rest else "flat")
    part.warmup = _number("schedule.warmup", call, "total_iters") or Fact(
        field="schedule.warmup", value=5, places=place, origin="library_default", reader=""
    )
    text = call.module.text(call.node)[:200]
    if final != 1:
        peak = Fact(
            field="schedule.peak",
            known=False,
            places=place,
            origin="presence",
            expression=text,
            reason="the warm-up ends at another factor",
            reader="torch_schedules",
        )
        part.details = (peak,)
    if not is_number(first) or final != 1:
        part.start = first_rate(None, place, text)
    elif first:
        part.start = first_rate(float(first), place)
    return part


def _add_warmup(part: SchedulePart, call: Call) -> None:
    """Add a warm-up and its length, unless the given length is 0."""
    argument = next((argument for argument in table.WARMUPS if argument in call.bound()), "")
    match call.argument(argument) if argument else None:
        case Known(value=0 | None, flag=""):
            part.rising = False
        case _:
            part.warms = True
            part.warmup = _number("schedule.warmup", call, argument) if argument else None


def _number(field: str, call: Call, argument: str) -> Fact | None:
    """Return the fact of an argument; None if it is certainly no number."""
    writer = FactWriter("torch_schedules")
    writer.number(field, call.argument(argument), place_of(call))
    return next(iter(writer.facts), None)


def _of_word(call: Call) -> SchedulePart:
    """Return the schedule that an argument of `get_scheduler` names."""
    first = [evaluate(given, call.module) for given in call.node.args[:1]]
    value = call.argument("name", *first)
    word = str(content(value)).lower().rpartition(".")[2]
    flag = value.flag if isinstance(value, Known) else ""
    part = SchedulePart(decay_of_schedule(word), (place_of(call),), flag=flag)
    if isinstance(value, Choice):
        part.decay = "selectable"
    elif isinstance(value, Unknown) and not value.has_default:
        part.decay, part.flag = "selectable", value.text
    if word != "constant" and not call.bound().keys().isdisjoint(table.WARMUPS):
        _add_warmup(part, call)
    return part


def _of_bert(call: Call) -> SchedulePart | None:
    """Return the schedule built into the BertAdam of the first BERT ports."""
    word = str(content(call.argument("schedule")))
    if not re.fullmatch(r"warmup_(linear|cosine|constant|poly)", word):
        return None
    part = SchedulePart(decay_of(word), (place_of(call),))
    if "warmup" in call.bound():
        _add_warmup(part, call)
    return part


def _of_factory(call: Call, program: Program) -> SchedulePart:
    """Return the known facts of a schedule that a function of another file creates."""
    if not call.name.startswith("timm."):
        return SchedulePart("elsewhere", (place_of(call),), confidence="likely")
    names = ("warmup_epochs", "warmup_steps", "warmup")
    flags = [program.flags[name] for name in names if name in program.flags]
    places = (place_of(call), *(flag.span for flag in flags))
    return SchedulePart("selectable", places, warms=bool(flags))


def _of_policy(call: Call, word: str, program: Program) -> SchedulePart | None:
    """Return the schedule of a rate function outside the files, from its name."""
    given = [*call.node.args, *(argument.value for argument in call.node.keywords)]
    if not wrapped(call) and not any(
        _OPTIMIZER.search(call.module.text(argument)) for argument in given
    ):
        return None
    part = SchedulePart("", (place_of(call),), confidence="likely")
    part.decay = decay_of(word)
    if not part.decay and table.warms_up(word):
        part.warms = part.rising = True
        return part
    spread = (keyword.value for keyword in call.node.keywords if keyword.arg is None)
    names = {keyword.arg for keyword in call.node.keywords}
    names |= {name for node in spread for name, _ in program.unpacked(node, call.module)}
    part.warms = any(name.startswith("warm") for name in filter(None, names))
    if not part.decay:
        part.decay = "elsewhere"
        for flag in program.all_flags:
            chosen = content(flag.given or flag.default)
            if table.POLICY_FLAG.fullmatch(flag.dest):
                part.decay = decay_of_schedule(str(chosen or "")) or "elsewhere"
                part.flag = f"args.{flag.dest}"
                part.places = (*part.places, flag.span)
                break
    return part


def _keeps_rates(call: Call) -> bool:
    """Whether the result of a function is assigned to a name about learning rates."""
    statement = call.module.parent(call.node)
    targets = getattr(statement, "targets", ())
    return any(parts_of(call.module.text(target)) & _RATE_WORDS for target in targets)


def _raises(keyword: ast.keyword) -> bool:
    """Whether an argument gives a warm-up."""
    match keyword.value:
        case ast.Constant(value=0 | None):
            return False
    return str(keyword.arg).startswith("warm")


def shape_by_name(call: Call) -> Shape:
    """Return the shape suggested by name and arguments of another file's function."""
    function, module = call.node.func, call.module
    warms = any(map(_raises, call.node.keywords))
    kept = isinstance(function, ast.Attribute) and "sched" in module.text(function.value).lower()
    decay = decay_of(module.resolve(function) or module.text(function))
    return Shape(decay or ("elsewhere" if kept else "custom"), warms)
