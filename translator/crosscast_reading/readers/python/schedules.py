"""The schedule of a learning rate, from the calls and formulas behind it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_reading.pysource.syntax.nodes import identifier, walk
from crosscast_reading.pysource.values.value import Known, Unknown, Value
from crosscast_reading.readers.python.expression_sources import ExpressionSources, sources_of
from crosscast_reading.readers.python.library_calls import canonical, last, plain
from crosscast_reading.readers.python.origins import origin
from crosscast_reading.readers.python.schedule_bases import of_formula, of_own, of_values
from crosscast_reading.readers.python.schedule_ends import details_of
from crosscast_reading.readers.python.schedule_joints import (
    form_of_joint,
    has_no_target,
    is_none,
)
from crosscast_reading.readers.schedule_names import decay_of

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module

_SCHEDULE_CALL = re.compile(
    r"(keras\.optimizers\.schedules|keras\.experimental|tensorflow\.train|tensorflow_addons\."
    r"optimizers|paddle\.optimizer\.lr|paddle\.optimizer\.lr_scheduler|paddle\.fluid\.dygraph(\."
    r"learning_rate_scheduler)?|paddle\.fluid\.layers(\.learning_rate_scheduler)?|optax(\.schedules)?)"
    r"\.\w+"
)
_WARMUPS = (
    "warmup_steps",
    "num_warmup_steps",
    "warmup_epochs",
    "warmup_batches",
    "lr_warmup_steps",
)
_BASES = (
    *("warmup_target", "peak_value", "initial_learning_rate", "learning_rate", "max_learning_rate"),
    *("base_lr", "init_value", "end_lr", "max_lr"),
)
_TOTALS = ("decay_steps", "T_max", "total_steps", "first_decay_steps")
_WITH_WARMUP = re.compile(r"(with|and)_?warm_?up\w*$", re.I)
_PLAIN_WORDS = re.compile(
    r"decay|schedule|annealing|noam|piecewise|plateau|onecycle|lambda|warmup|multi_?step|cyclic",
    re.I,
)
_LENGTH = re.compile(r"warm_?up_?(steps|epochs|iters|proportion|ratio)$", re.I)
_GIVEN = ("flag", "function_argument")
_TOTAL = re.compile(r"^(?!.*warm).*(total|train|max)_?(steps|iters|epochs)|decay|power")
_WARM = re.compile(r"warm_?up|ramp_?up", re.I)
_UNRELATED = re.compile(
    r"weight_?decay|ExponentialMovingAverage|moving|global_step|checkpoint", re.I
)
_CONTINUES = re.compile(r"self\._?\w*(schedule|decay|after|next)\w*\(")
"""The call of another schedule, which follows a warm-up."""
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_FORMULAS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("cosine", re.compile(r"\bcos\(")),
    ("inverse_sqrt", re.compile(r"\brsqrt\(|\*\* ?\(?-0?\.5")),
    ("polynomial", re.compile(r"\bpow\((?! ?[\d.]+ ?,)|\*\* ?(power|self\._?power)")),
    (
        "linear",
        re.compile(
            r"\(\s*\w*(total|max|num)\w*\s*-\s*\w*step\w*\s*\)"
            r"|float\(\s*\w*(total|train|max|num)\w* - \w+\s*\)"
            r"|1(\.0?)? ?- ?[\w.()]+ ?/ ?\w*(total|max|num|step)"
        ),
    ),
)
"""The decay of a function of the program by a pattern in its text; the first match counts."""


@dataclass(frozen=True, slots=True)
class Course:
    """What is known of a schedule."""

    decay: str
    """Word of the vocabulary; empty if unknown."""
    warmup: str = ""
    """Length of the warm-up as text; empty if there is none."""
    has_warmup: bool = False
    base: tuple[ast.expr, Module] | None = None
    """The peak rate, if the schedule names it."""
    places: tuple[Span, ...] = ()
    total: Value | None = None
    exact: bool = False
    """Whether calls of libraries decide the decay, and not the spelling of a formula."""
    details: tuple[tuple[str, float | str], ...] = ()
    """Fields of a recipe's schedule that such a call decides."""
    start: Value | None = None
    """The first rate of the warm-up, if a call of a library gives it."""
    form: str = ""
    """How the warm-up differs from that of a recipe: a word of the vocabulary."""


def course_of(rate: ast.expr, module: Module) -> Course | None:
    """Return the schedule behind a learning rate; None if it is a plain number or unknown."""
    sources = sources_of(rate, module)
    decays: dict[str, None] = {}
    places: dict[Span, None] = {}
    lengths: list[str] = []
    base: tuple[ast.expr, Module] | None = None
    total: Value | None = None
    start: Value | None = None
    details: list[tuple[tuple[str, float | str], ...]] = []
    calls = list(_library_calls(sources))
    without = any(has_no_target(call) for call, _ in calls)
    for call, name in calls:
        word = _word(call, name)
        if word and word != "warmup":
            decays[word] = None
            details.append(tuple(details_of(call, name)))
        if (
            word in ("warmup", "noam", "onecycle")
            or _WITH_WARMUP.search(name)
            or ("warmup_steps" in call.bound() and not has_no_target(call))
        ):
            lengths.append(_length(call))
        places[call.module.span(call.node)] = None
        base = _base(call) or of_values(call, name) or base
        total = total or _total(call)
        start = start or _start(call, word)
    by_library = bool(decays)
    for node, where in sources.places:
        name = getattr(node, "name", "")
        by_name = decay_of(name)
        word = by_name or _decay_of_text(node, where)
        # without a name, it may be a formula around a library schedule
        if word and not _UNRELATED.search(name) and (by_name or not by_library):
            decays[word] = None
            places[where.span(node)] = None
    unseen = ""
    for call in sources.calls:
        if (
            not lengths
            and not without
            and any(keyword.arg in _WARMUPS for keyword in call.node.keywords)
        ):
            unseen = "" if _is_here(call) else _behind(call)
            lengths.append(_length(call))
            places[call.module.span(call.node)] = None
    mentioned = not without and _WARM.search(sources.text)
    if not lengths and mentioned and (decays or _compares_warmup(sources)):
        lengths.append(_named_length(sources))
    if not decays and not lengths:
        return None
    base = base or of_own(sources.calls)
    if base is None and decays.keys() == {"polynomial"} and not by_library:
        base = of_formula(rate, module)
    decay = "selectable" if len(decays) > 1 else next(iter(decays), unseen or "constant")
    found_details = list(dict.fromkeys(filter(None, details)))
    length = next(filter(None, lengths), "")
    return Course(
        decay,
        length,
        bool(lengths),
        base,
        tuple(places),
        total,
        exact=by_library or not decays,
        details=found_details[0] if len(found_details) == 1 else (),
        start=start,
        form=_form([call for call, _ in calls], sources.calls) if lengths else "",
    )


def _form(calls: list[Call], around: Sequence[Call]) -> str:
    """Return how a warm-up of a library and what follows it are joined, if no recipe has that."""
    words = [(call, _word(call, call.name)) for call in calls]
    warms = [call for call, word in words if word == "warmup"]
    falls = [call for call, word in words if word not in ("", "warmup")]
    if len(warms) != 1 or len(falls) > 1:
        return ""
    bases = [base for call in falls if (base := _base(call)) is not None]
    return form_of_joint(warms[0], bases, around)


def course_of_class(node: ast.ClassDef, module: Module) -> Course:
    """Return the schedule that a class of the program computes, for callers in other files."""
    text = module.text(node)
    word = decay_of(node.name) or _decay_of_text(node, module)
    if not word:
        word = "caller" if _CONTINUES.search(text) else "custom"
    names = [module.text(inner) for inner in walk(node) if isinstance(inner, ast.Attribute)]
    length = next((name for name in names if _LENGTH.search(name)), "")
    warm = bool(length) or bool(_WARM.search(node.name))
    return Course(word, length, warm, places=(module.span(node),))


def _decay_of_text(node: ast.AST, module: Module) -> str:
    """Return the decay that a function, class or lambda computes; empty if it computes none."""
    if not any(isinstance(inner, _DEFINITIONS) for inner in walk(node)):
        return "polynomial" if any(_is_power_of_rest(inner) for inner in walk(node)) else ""
    text = module.text(node)
    word = next((word for word, pattern in _FORMULAS if pattern.search(text)), "")
    return "noam" if word == "inverse_sqrt" and "warmup" in text else word


def _is_power_of_rest(node: ast.AST) -> bool:
    """Whether an expression is `pow(1 - step / total, power)`."""
    match node:
        case ast.Call(func=function, args=[rest, _]) if identifier(function) == "pow":
            pass
        case _:
            return False
    match rest:
        case ast.BinOp(
            left=ast.Constant(value=1 | 1.0), op=ast.Sub(), right=ast.BinOp(op=ast.Div())
        ):
            return True
    return False


def _behind(call: Call) -> str:
    """Return the decay after the warm-up of a schedule of another file, from its arguments."""
    words = {str(k.arg) for k in call.node.keywords}
    if words & {"d_model", "model_dim", "dmodel"}:
        return "noam"
    if call.method == "get_scheduler":
        return "selectable" if _is_chosen(call) else "elsewhere"
    return "elsewhere" if any(_TOTAL.search(word) for word in words) else ""


def _is_chosen(call: Call) -> bool:
    """Whether a setting names the schedule that a library makes: `get_scheduler(args.kind)`."""
    named = call.bound().get("name", next(iter(call.node.args), None))
    return named is not None and origin(named, call.module) in ("flag", "config")


def _is_here(call: Call) -> bool:
    """Whether a schedule is a function or a class of the program."""
    program = call.module.program
    shown = last(call.name) or call.method
    return program.function(call) is not None or any(shown in m.classes for m in program.modules)


def _library_calls(sources: ExpressionSources) -> Iterator[tuple[Call, str]]:
    for call in sources.calls:
        for name in call.names:
            name = canonical(name)
            shown = last(name)
            if _UNRELATED.search(shown) or not _PLAIN_WORDS.search(shown):
                continue
            if _SCHEDULE_CALL.fullmatch(name):
                yield call, name
                break
            if ":" not in name and decay_of(shown):
                yield call, name
                break


def _word(call: Call, name: str) -> str:
    """Return the decay of a library call, or `warmup`; empty if neither."""
    shown = last(name)
    small = shown.lower()
    if small in ("linearwarmup", "linear_lr_warmup", "warmup"):
        return "warmup"
    if small in ("linear_schedule", "polynomial_schedule"):
        if plain(call.argument("transition_begin")):
            return "custom"  # it waits before it moves
        straight = small == "linear_schedule" or plain(call.argument("power")) == 1
        if straight or between(call) == "warmup":
            return between(call) if straight else "custom"
    if small in ("join_schedules", "constant_schedule", "lambdadecay", "learningrateschedule"):
        return ""
    if "exponent" in call.bound() and plain(call.argument("exponent")) != 1:
        return "custom"  # of optax: a power of the cosine
    word = decay_of(shown)
    if word != "polynomial" or "power" not in call.bound():
        return "linear" if word == "polynomial" else word  # every library has 1.0 as the default
    power = call.argument("power")
    by_caller = isinstance(power, Known | Unknown) and power.origin in _GIVEN
    return "linear" if plain(power) == 1 and not by_caller else word


def between(call: Call) -> str:
    """Return whether a straight line rises (warm-up) or falls."""
    match plain(call.argument("init_value")), plain(call.argument("end_value")):
        case int() | float() as first, _ if first < 1e-7:
            return "warmup"
        case int() | float() as first, int() | float() as final if first < final:
            return "warmup"
        case None, None:
            return ""
    return "linear"


def _base(call: Call) -> tuple[ast.expr, Module] | None:
    """Return the peak rate that a library call names."""
    shown = last(call.name)
    names: tuple[str, ...] = _BASES
    if shown in ("LinearWarmup", "linear_lr_warmup"):
        names = ("end_lr",)
    elif shown in (
        "linear_schedule",
        "polynomial_schedule",
    ):  # if it rises, the peak rate is the last
        names = ("end_value",) if between(call) == "warmup" else ("init_value",)
    bound = call.bound()
    given = (name for name in names if name in bound)
    return next(((bound[n], call.module) for n in given if not is_none(call.argument(n))), None)


def _start(call: Call, word: str) -> Value | None:
    """Return the first rate of the warm-up that a library call makes."""
    bound, shown = call.bound(), last(call.name)
    if word == "warmup" or shown.startswith("warmup_"):
        name = "start_lr" if "start_lr" in bound else "init_value"
    elif "warmup_target" in bound and not has_no_target(call):
        name = "initial_learning_rate"
    else:
        return None
    if name not in bound and call.has_star:
        return Unknown(call.module.text(call.node)[:200], "where the warm-up begins was not read")
    return call.argument(name)


def _total(call: Call) -> Value | None:
    return next((call.argument(name) for name in _TOTALS if name in call.bound()), None)


def _length(call: Call) -> str:
    if _word(call, call.name) == "onecycle":
        return ""  # a share of its length, up to which it rises
    for name in (*_WARMUPS, "transition_steps", "warmup", "warmup_step"):
        node = call.bound().get(name)
        if node is not None:
            return _shown(call.argument(name), call.module.owner_of(node).text(node))
    return ""


def _shown(value: Value | None, text: str) -> str:
    match value:
        case Known(value=int() | float() as number, origin="config"):
            return str(number)  # an entry of settings that a function of the program returns
        case Known(value=int() | float() as number, flag=flag):
            return flag or str(number)
        case Unknown(names=(name,)):
            return name
    return text[:200]


def _compares_warmup(sources: ExpressionSources) -> bool:
    """Whether a comparison uses the length of a warm-up."""
    return any(
        isinstance(node, ast.Compare)
        or last(canonical(module.call(node).name)) in ("where", "cond", "less", "minimum")
        for node, module in _nodes(sources)
        if isinstance(node, ast.Compare | ast.Call) and _WARM.search(module.text(node))
    )


def _named_length(sources: ExpressionSources) -> str:
    """Return the first name of a length of a warm-up, else the first name of a warm-up."""
    texts = [
        module.text(node)[:200]
        for node, module in _nodes(sources)
        if (isinstance(node, ast.Name | ast.Attribute) and _WARM.search(module.text(node)))
        or (isinstance(node, ast.Subscript) and _WARM.search(module.text(node.slice)))
    ]
    texts = [text for text in texts if not decay_of(text)]  # these name the schedule itself
    return next(filter(_LENGTH.search, texts), texts[0] if texts else "")


def _nodes(sources: ExpressionSources) -> Iterator[tuple[ast.AST, Module]]:
    return ((node, module) for place, module in sources.places for node in walk(place))
