"""Reads who computes the loss of a Trainer of Transformers: the Trainer or the program."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.fact_writer import FactWriter, place_of
from crosscast_reading.readers.python.losses import returned_losses

if TYPE_CHECKING:
    from crosscast_reading.facts.fact import Fact
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.pysource.programs.scopes import Binding, Scope

_TRAINER = re.compile(r"transformers\.(?:\w+\.)*(?:Seq2Seq)?Trainer")
_OTHER_TRAINER = re.compile(r"(?:trl|optimum|sentence_transformers)\.(?:\w+\.)*\w*Trainer")
_HEAD = re.compile(r"transformers\.(?:\w+\.)*?\w{1,40}?(For[A-Z]\w{1,40}|LMHeadModel)(?:\.\w++)*+")
_SMOOTHED = re.compile(
    r"For(?:(?:Sequence|Token|Image|Audio|Video)Classification|MaskedLM|MultipleChoice"
    r"|Seq2SeqLM|ConditionalGeneration)"
)
"""Heads whose rows have `labels`, one for each vector of logits. Those of question answering have
none, so that nothing is smoothed; those of causal language models are shifted by one."""


def trainer_losses(program: Program, reader: str) -> Iterator[Fact]:
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
