"""Reads Hugging Face Accelerate: the arguments of `Accelerator(...)`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.targets.parameter_words import scaling_words
from crosscast_reading.facts.fact import Fact
from crosscast_reading.facts.vocabulary import HALVES
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.value import Choice, Known, Unknown, Value
from crosscast_reading.readers.python.fact_writer import FactWriter, content, place_of, word_of_type
from crosscast_reading.readers.python.library_calls import calls_matching, matching
from crosscast_reading.readers.python.origins import origin

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.program import Program

NAME = "accelerate"
_ACCELERATOR = re.compile(r"accelerate\.(accelerator\.)?Accelerator")
_METHOD = re.compile(r"accelerate\.(accelerator\.)?Accelerator\.(backward|accumulate)")
_SCALER = re.compile(r"accelerate\.(utils\.)?GradScalerKwargs")


class Accelerate:
    """Reads Accelerator."""

    name = NAME
    hints = ("Accelerator",)

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield the facts of the Accelerators of a program."""
        writer = FactWriter(NAME)
        calls = calls_matching(program, _ACCELERATOR)
        if not calls:
            yield from _of_caller(writer, program)
            return
        places = [place_of(call) for call in calls]
        writer.say("api", "accelerate", *places)
        writer.say("parallel.kind", "library", *places)
        scaled = _precision(writer, calls)
        if scaled:
            _scaling(writer, program, places)
        writer.say("scaler_update.status", "library", *places)
        yield from writer.facts


def _of_caller(writer: FactWriter, program: Program) -> Iterator[Fact]:
    """Yield the facts that hold for every Accelerator, of a module whose functions receive one."""
    places = [place_of(call) for call in calls_matching(program, _METHOD)]
    if places:
        writer.say("api", "accelerate", *places[:1], origin="presence")
        writer.say("parallel.kind", "library", *places[:1], origin="presence")
        writer.say("precision.enabled", "caller", *places[:1], confidence="likely")
        writer.unknown("precision.compute_dtype", "the caller decides", *places[:1])
        writer.say("loss_scaling.mode", "library", *places[:1], confidence="likely")
    yield from writer.facts


def _precision(writer: FactWriter, calls: list[Call]) -> bool:
    """Record who decides about precision; return False if float16 is certainly not used."""
    given = [call for call in calls if {"mixed_precision", "fp16"} & set(call.bound())]
    if not given:
        places = [place_of(call) for call in calls]
        writer.say(
            "precision.enabled", "config", *places, origin="library_default", confidence="likely"
        )
        writer.say(
            "precision.compute_dtype",
            "launcher_or_config",
            *places,
            origin="library_default",
            confidence="likely",
        )
        return True
    call = given[0]
    if len({_given_precision(each) for each in calls}) > 1:
        places = [place_of(each) for each in calls]
        writer.say("precision.enabled", "config", *places, confidence="likely")
        writer.unknown("precision.compute_dtype", "several Accelerators differ in it", *places)
        return True
    name = "mixed_precision" if "mixed_precision" in call.bound() else "fp16"
    node = call.bound()[name]
    module = call.module.owner_of(node)
    spans = [place_of(call), module.span(node)]
    value = evaluate(node, module)
    who = origin(node, module)
    types, flags = _types(node, value, call)
    spans += flags
    if name == "fp16":
        types = ("float16",)
        on = content(value)
        default = "" if not isinstance(on, bool) else "float16" if on else "float32"
    else:
        default = _default(value)
    if who == "always":
        if not set(types) - {"float32"} and default != "launcher_or_config":
            writer.say("precision.enabled", "never", *spans)
            writer.say("precision.compute_dtype", "float32", *spans)
            writer.say("loss_scaling.mode", "none", *spans)
            return False
        who = "config" if default == "launcher_or_config" else "always"
    text = module.text(node)
    writer.say("precision.enabled", who, *spans, origin="flag" if who == "flag" else "presence",
             expression=text)  # fmt: skip
    if types:
        writer.say("precision.dtypes", tuple(t for t in types if t != "float32"), *spans)
    if who != "always":
        writer.say("precision.flag", text, *spans[:1])
    if default:
        writer.say("precision.compute_dtype", default, *spans, expression=text)
    else:
        writer.unknown("precision.compute_dtype", "the switch is unknown", *spans, expression=text)
    writer.say("precision.mode", "mixed", *spans[:1])
    return set(types) != {"bfloat16"}


def _given_precision(call: Call) -> tuple[Value | None, Value | None]:
    return call.argument("mixed_precision"), call.argument("fp16")


def _default(value: Value) -> str:
    if isinstance(value, Unknown) and not value.has_default:
        return ""
    if isinstance(value, Choice):
        return ""
    plain = content(value)
    return "launcher_or_config" if plain is None else word_of_type(plain)


def _types(node: ast.expr, value: Value, call: Call) -> tuple[tuple[str, ...], list[Span]]:
    """Return the selectable types, and the place of the flag's definition."""
    types: dict[str, None] = {}
    spans: list[Span] = []
    name = (
        value.flag if isinstance(value, Known) else value.text if isinstance(value, Unknown) else ""
    )
    dest = re.sub(r"\W+$", "", name).rpartition(".")[2].rpartition("[")[2].strip("'\"")
    flag = call.module.program.flags.get(dest)
    if flag is not None:
        spans.append(flag.span)
        types.update(dict.fromkeys(filter(None, map(word_of_type, flag.choices))))
    if not types:
        options = [option for _, option in value.options] if isinstance(value, Choice) else [value]
        words = (word_of_type(content(option)) for option in options)
        types.update(dict.fromkeys(filter(None, words)))
    open_to_all = flag is not None or (isinstance(value, Unknown) and not value.has_default)
    if open_to_all and not set(types) - {"float32"}:
        types.update(dict.fromkeys(HALVES))
    return tuple(types), spans


def _scaling(writer: FactWriter, program: Program, places: list[Span]) -> None:
    kwargs = [call for _, call in matching(program, _SCALER)]
    given = False
    for call in kwargs:
        for argument, path in scaling_words("torch").items():
            if argument in call.bound():
                given = True
                writer.number(path, call.argument(argument), place_of(call))
    if given:
        writer.say("loss_scaling.mode", "dynamic", *(place_of(call) for call in kwargs))
    else:
        writer.say("loss_scaling.mode", "library", *places)


READER = Accelerate()
