"""Reads the Trainer of Transformers: TrainingArguments by keywords or from the command line."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from crosscast.facts.fact import Fact, Layer
from crosscast.facts.vocabulary import HALVES
from crosscast.readers.config.hf_arguments import tell_trainer
from crosscast.readers.config.settings import Said, Settings
from crosscast.readers.config.trainer_settings import (
    from_call,
    from_flags,
    texts_of,
    with_expressions,
)
from crosscast.readers.python.decisions import Decision, decide
from crosscast.readers.python.library_calls import last
from crosscast.readers.shell.flags_paddle import tell_trainer_flags
from crosscast.readers.torch.fact_writer import Told, place_of
from crosscast.readers.torch.precision import Use, tell_uses
from crosscast.readers.words import TYPES

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast.pysource.programs.call import Call
    from crosscast.pysource.programs.flag import Flag
    from crosscast.pysource.programs.program import Program

NAME = "transformers"
_PADDLE = "paddlenlp."
_PACKAGES = ("transformers.", "trl.", "optimum.", "sentence_transformers.", "peft.", _PADDLE)
_CLASSES = frozenset(
    {
        *("TrainingArguments", "Seq2SeqTrainingArguments", "SFTConfig", "DPOConfig"),
        *("SentenceTransformerTrainingArguments", "ORPOConfig", "KTOConfig", "RewardConfig"),
        *("GRPOConfig", "GaudiTrainingArguments", "ORTTrainingArguments", "CPOConfig"),
    }
)
_HALF = ("precision.", "loss_scaling.", "scaler_update.")


class Transformers:
    """Reads TrainingArguments."""

    name = NAME
    hints = ("TrainingArguments", "SFTConfig", "DPOConfig", "ORPOConfig", "KTOConfig", "GRPOConfig")

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield what the arguments of a Trainer mean."""
        for call in program.calls():
            if any(_is_arguments(name, program) for name in call.names):
                yield from _by_call(call)
                return
        parsed = _parsed(program)
        if parsed is not None:
            yield from _by_command_line(*parsed, program)


def _is_arguments(name: str, program: Program) -> bool:
    if ":" in name:
        scope = program.class_named(name)
        return scope is not None and _is_arguments(program.library_base(scope), program)
    return name.startswith(_PACKAGES) and last(name) in _CLASSES


def _by_call(call: Call) -> Iterator[Fact]:
    settings = from_call(call)
    said = Said(NAME, layer=Layer.SCRIPT)
    paddle = any(name.startswith(_PADDLE) for name in call.names)
    (tell_trainer_flags if paddle else tell_trainer)(said, settings)
    facts = with_expressions(said, texts_of(call))
    switches = [name for name in ("fp16", "bf16") if name in call.bound()]
    fixed = all(isinstance(call.bound()[name], ast.Constant) for name in switches)
    if switches and not fixed:
        facts = [one for one in facts if not one.field.startswith(_HALF)]
        facts += _switched(call, switches)
    if call.has_star:
        facts = [one for one in facts if one.layer is not Layer.LIBRARY]
    place = place_of(call)
    told = Told(NAME)
    told.say("parallel.kind", "library", place)
    told.say("api", "paddle_cli_flags" if paddle else "hf_trainer", place)
    yield from (one if one.places else replace(one, places=(place,)) for one in facts)
    yield from told.facts


def _switched(call: Call, names: Sequence[str]) -> list[Fact]:
    """Say the precision that switches decide about."""
    told = Told(NAME)
    uses = []
    for name in names:
        node = call.bound()[name]
        module = call.module.owner_of(node)
        decision = decide((), node, module)
        uses.append(Use(module.span(node), decision, (TYPES[name],), TYPES[name]))
    on = [use for use in uses if use.decision.usual]
    tell_uses(told, [*on, *(use for use in uses if use not in on)])
    if on and on[0].decision.who != "never":
        told.facts = [one for one in told.facts if one.field != "precision.compute_dtype"]
        told.say("precision.compute_dtype", on[0].default, on[0].place, origin="flag",
                 expression=on[0].decision.flag)  # fmt: skip
    if told.facts:
        told.say("loss_scaling.mode", "library", *(use.place for use in uses))
        told.say("scaler_update.status", "library", *(use.place for use in uses))
    return told.facts


def _parsed(program: Program) -> tuple[Call, str] | None:
    """Return the parser of the command line that fills TrainingArguments, and the class."""
    for call in program.calls():
        if last(call.name) not in ("HfArgumentParser", "TrlParser", "H4ArgumentParser"):
            continue
        for given in call.node.args[:1]:
            listed = given.elts if isinstance(given, ast.Tuple | ast.List) else [given]
            for one in listed:
                name = call.module.resolve(one)
                if _is_arguments(name, program):
                    return call, name
    return None


def _by_command_line(call: Call, owner: str, program: Program) -> Iterator[Fact]:
    """Yield what arguments of the Trainer mean that the command line fills."""
    fields = _fields(owner, program)
    settings = from_flags(fields)
    said = Said(NAME, layer=Layer.SCRIPT)
    tell_trainer(said, settings)
    place = place_of(call)
    told = Told(NAME)
    half = [fields[name] for name in ("fp16", "bf16") if name in fields]
    said.facts = [
        replace(one, expression=_expression(one, fields))
        for one in said.facts
        if not one.field.startswith(_HALF)
    ]
    _half(told, half, settings, place, program)
    if settings.get("gradient_accumulation_steps") is None:
        said.facts = [one for one in said.facts if one.field != "accumulation.steps"]
        told.say("accumulation.present", "yes", place, origin="flag", confidence="likely")
        told.say(
            "accumulation.steps",
            1,
            place,
            origin="flag",
            confidence="likely",
            expression="training_args.gradient_accumulation_steps",
        )
        for name in ("loss_divided", "tail", "no_sync"):
            told.say(f"accumulation.{name}", "library", place)
    told.say("clipping.per", "library", place)
    told.say("parallel.kind", "library", place)
    said.facts = [one for one in said.facts if one.field != "clipping.per"]
    yield from (one if one.places else replace(one, places=(place,)) for one in said.facts)
    yield from told.facts


def _fields(owner: str, program: Program) -> dict[str, Flag]:
    """Return the fields that the program's own class adds, by name."""
    return {flag.dest: flag for flag in program.all_flags if flag.owner and flag.owner == owner}


def _expression(one: Fact, fields: dict[str, Flag]) -> str:
    if one.expression or not one.places:
        return one.expression
    return next((name for name, flag in fields.items() if flag.span == one.places[0]), "")


def _read(program: Program) -> list[Span]:
    """Return where the program itself looks at the switches of precision."""
    return [
        module.span(node)
        for module in program.modules
        for node in module.every(ast.Attribute)
        if node.attr in ("fp16", "bf16") and "args" in module.text(node.value)
    ]


def _half(
    told: Told, fields: list[Flag], settings: Settings, place: Span, program: Program
) -> None:
    on = [name for name in ("fp16", "bf16") if settings.is_on(name)]
    spans = [flag.span for flag in fields] or [place]
    spans += _read(program)
    use = Use(
        spans[0],
        Decision("flag", bool(on), (), "training_args.fp16 or training_args.bf16"),
        HALVES,
        TYPES[on[0]] if on else "",
        also=tuple(spans[1:]),
    )
    tell_uses(told, [use])
    told.say("loss_scaling.mode", "library", *spans)
    told.say("scaler_update.status", "library", *spans)


READER = Transformers()
