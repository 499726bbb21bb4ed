"""Reads the Trainer of Transformers: TrainingArguments by keywords or from the command line.

The loss is that of the Trainer or one that the program computes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact, Layer
from crosscast_reading.facts.vocabulary import HALVES
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.config.hf_arguments import tell_smoothing, tell_trainer
from crosscast_reading.readers.config.paddlenlp_arguments import tell_trainer_flags
from crosscast_reading.readers.python.decisions import Decision, decide
from crosscast_reading.readers.python.fact_writer import FactWriter, place_of
from crosscast_reading.readers.python.library_calls import last
from crosscast_reading.readers.python.losses import returned_losses
from crosscast_reading.readers.python.trainer_settings import (
    from_call,
    from_flags,
    texts_of,
    with_expressions,
)
from crosscast_reading.readers.settings import Settings, SettingWriter
from crosscast_reading.readers.words import TYPES
from crosscast_torch.reading.precision import Use, tell_uses

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.flag import Flag
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.pysource.programs.scopes import Binding, Scope
    from crosscast_reading.pysource.values.value import Value

_TRAINER = re.compile(r"transformers\.(?:\w+\.)*(?:Seq2Seq)?Trainer")
_OTHER_TRAINER = re.compile(r"(?:trl|optimum|sentence_transformers)\.(?:\w+\.)*\w*Trainer")
_HEAD = re.compile(r"transformers\.(?:\w+\.)*?\w{1,40}?(For[A-Z]\w{1,40}|LMHeadModel)(?:\.\w++)*+")
_SMOOTHED = re.compile(
    r"For(?:(?:Sequence|Token|Image|Audio|Video)Classification|MaskedLM|MultipleChoice"
    r"|Seq2SeqLM|ConditionalGeneration)"
)
"""Heads whose rows have `labels`, one for each vector of logits. Those of question answering have
none, so that nothing is smoothed; those of causal language models are shifted by one."""

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
_SMOOTHING = ("TrainingArguments", "Seq2SeqTrainingArguments")
"""Those of trainers that smooth labels; the others have losses of their own."""
_HALF = ("precision.", "loss_scaling.", "scaler_update.")


class Transformers:
    """Reads TrainingArguments."""

    name = NAME
    hints = ("TrainingArguments", "SFTConfig", "DPOConfig", "ORPOConfig", "KTOConfig", "GRPOConfig")

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield the facts of the arguments of a Trainer."""
        for call in program.calls():
            owner = next((c for name in call.names if (c := _arguments(name, program))), "")
            if owner:
                yield from _by_call(call, owner)
                yield from _trainer_losses(program, NAME)
                return
        parsed = _parsed(program)
        if parsed is not None:
            yield from _by_command_line(*parsed, program)
            yield from _trainer_losses(program, NAME)


def _arguments(name: str, program: Program) -> str:
    """Return the library's class of arguments that a class is; empty for any other."""
    if ":" in name:
        scope = program.class_named(name)
        return "" if scope is None else _arguments(program.library_base(scope), program)
    return name if name.startswith(_PACKAGES) and last(name) in _CLASSES else ""


def _tell(writer: SettingWriter, settings: Settings, owner: str) -> None:
    if owner.startswith(_PADDLE):
        tell_trainer_flags(writer, settings)
        return
    tell_trainer(writer, settings)
    if last(owner) in _SMOOTHING:
        tell_smoothing(writer, settings)


def _by_call(call: Call, owner: str) -> Iterator[Fact]:
    settings = from_call(call)
    writer = SettingWriter(NAME, layer=Layer.SCRIPT)
    _tell(writer, settings, owner)
    facts = with_expressions(writer, texts_of(call))
    switches = [name for name in ("fp16", "bf16") if name in call.bound()]
    if not all(_is_fixed(call.argument(name)) for name in switches):
        facts = [fact for fact in facts if not fact.field.startswith(_HALF)]
        facts += _switched(call, switches)
    if call.has_star:
        facts = [fact for fact in facts if fact.layer is not Layer.LIBRARY]
    place = place_of(call)
    extra = FactWriter(NAME)
    extra.say("parallel.kind", "library", place)
    extra.say("api", "paddle_cli_flags" if owner.startswith(_PADDLE) else "hf_trainer", place)
    yield from (fact if fact.places else replace(fact, places=(place,)) for fact in facts)
    yield from extra.facts


def _is_fixed(switch: Value | None) -> bool:
    match switch:
        case Known(flag=""):
            return True
    return False


def _switched(call: Call, names: Sequence[str]) -> list[Fact]:
    """Record the precision that switches control."""
    writer = FactWriter(NAME)
    uses = []
    for name in names:
        node = call.bound()[name]
        module = call.module.owner_of(node)
        decision = decide((), node, module)
        uses.append(Use(module.span(node), decision, (TYPES[name],), TYPES[name]))
    on = [use for use in uses if use.decision.by_default]
    tell_uses(writer, [*on, *uses])
    if on:
        writer.facts = [fact for fact in writer.facts if fact.field != "precision.compute_dtype"]
        writer.say("precision.compute_dtype", on[0].default, on[0].place, origin="flag",
                 expression=on[0].decision.flag)  # fmt: skip
    writer.say("loss_scaling.mode", "library", *(use.place for use in uses))
    writer.say("scaler_update.status", "library", *(use.place for use in uses))
    return writer.facts


def _parsed(program: Program) -> tuple[Call, str] | None:
    """Return the parser of the command line that fills TrainingArguments, and the class."""
    for call in program.calls():
        if last(call.name) not in ("HfArgumentParser", "TrlParser", "H4ArgumentParser"):
            continue
        for given in call.node.args[:1]:
            listed = given.elts if isinstance(given, ast.Tuple | ast.List) else [given]
            for target in listed:
                name = call.module.resolve(target)
                if _arguments(name, program):
                    return call, name
    return None


def _by_command_line(call: Call, owner: str, program: Program) -> Iterator[Fact]:
    """Yield the facts of Trainer arguments that the command line fills."""
    fields = _fields(owner, program)
    settings = from_flags(fields)
    writer = SettingWriter(NAME, layer=Layer.SCRIPT)
    _tell(writer, settings, _arguments(owner, program))
    place = place_of(call)
    extra = FactWriter(NAME)
    half = [fields[name] for name in ("fp16", "bf16") if name in fields]
    writer.facts = [
        replace(fact, expression=_expression(fact, fields))
        for fact in writer.facts
        if not fact.field.startswith(_HALF)
    ]
    _half(extra, half, settings, place, program)
    if settings.get("gradient_accumulation_steps") is None:
        writer.facts = [fact for fact in writer.facts if fact.field != "accumulation.steps"]
        extra.say("accumulation.present", "yes", place, origin="flag", confidence="likely")
        extra.say(
            "accumulation.steps",
            1,
            place,
            origin="flag",
            confidence="likely",
            expression="training_args.gradient_accumulation_steps",
        )
        for name in ("loss_divided", "tail", "no_sync"):
            extra.say(f"accumulation.{name}", "library", place)
    extra.say("clipping.per", "library", place)
    extra.say("parallel.kind", "library", place)
    writer.facts = [fact for fact in writer.facts if fact.field != "clipping.per"]
    yield from (fact if fact.places else replace(fact, places=(place,)) for fact in writer.facts)
    yield from extra.facts


def _fields(owner: str, program: Program) -> dict[str, Flag]:
    """Return the fields that the program's class adds, by name."""
    return {flag.dest: flag for flag in program.all_flags if flag.owner == owner}


def _expression(fact: Fact, fields: dict[str, Flag]) -> str:
    names = (name for name, flag in fields.items() if flag.span in fact.places[:1])
    return next(names, fact.expression)


def _read(program: Program) -> list[Span]:
    """Return the places where the program itself reads the precision switches."""
    return [
        module.span(node)
        for module in program.modules
        for node in module.every(ast.Attribute)
        if node.attr in ("fp16", "bf16") and "args" in module.text(node.value)
    ]


def _half(
    writer: FactWriter, fields: list[Flag], settings: Settings, place: Span, program: Program
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
    tell_uses(writer, [use])
    writer.say("loss_scaling.mode", "library", *spans)
    writer.say("scaler_update.status", "library", *spans)


def _trainer_losses(program: Program, reader: str) -> Iterator[Fact]:
    """Yield the facts about the loss of the Trainers that a program makes."""
    trainers = list(_trainers(program))
    own = [binding for _, scope, _ in trainers for binding in _own_losses(scope, program)]
    if own:
        functions = [(b.module, b.node) for b in own if isinstance(b.node, ast.FunctionDef)]
        yield from returned_losses(functions, 0, reader)
        return
    plain = [call for call, _, base in trainers if _is_plain(call, base)]
    if trainers and len(plain) == len(trainers) and _labelled(program):
        writer = FactWriter(reader)
        writer.say("loss.smoothed_by", "trainer", *map(place_of, plain))
        yield from writer.facts


def _trainers(program: Program) -> Iterator[tuple[Call, Scope | None, str]]:
    """Yield the calls that make a Trainer: its class, if the program's, and that of a library."""
    for call in program.calls():
        for name in call.names:
            scope = program.class_named(name) if ":" in name else None
            base = program.library_base(scope) if scope is not None else name
            if _TRAINER.fullmatch(base) or _OTHER_TRAINER.fullmatch(base):
                yield call, scope, base


def _own_losses(scope: Scope | None, program: Program) -> Sequence[Binding]:
    """Return the bindings that compute the loss of a Trainer of the program: methods, as a rule."""
    return program.attribute_bindings(scope, "compute_loss", None) if scope else ()


def _is_plain(call: Call, base: str) -> bool:
    """Whether a Trainer computes the loss as that of Transformers does."""
    match call.argument("compute_loss_func"):
        case None | Known(value=None):
            return _TRAINER.fullmatch(base) is not None
    return False


def _labelled(program: Program) -> bool:
    """Whether the models of a program are all such that the Trainer smooths their labels."""
    heads: set[str] = set()
    for call in program.calls():
        heads.update(h[1] for name in call.names if (h := _HEAD.fullmatch(name)))
        match call.argument("problem_type") if "problem_type" in call.bound() else None:
            case None | Known(value=None | "single_label_classification"):
                pass
            case _:
                return False
    return bool(heads) and all(map(_SMOOTHED.fullmatch, heads))


READER = Transformers()
