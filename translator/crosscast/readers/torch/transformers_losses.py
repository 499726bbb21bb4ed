"""Reads who computes the loss of a Trainer of Transformers: the Trainer or the program."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.pysource.values.value import Known
from crosscast.readers.python.fact_writer import FactWriter, place_of
from crosscast.readers.python.losses import returned_losses

if TYPE_CHECKING:
    from crosscast.facts.fact import Fact
    from crosscast.pysource.programs.call import Call
    from crosscast.pysource.programs.module import Function, Module
    from crosscast.pysource.programs.program import Program
    from crosscast.pysource.programs.scopes import Scope

_TRAINER = re.compile(r"transformers\.(?:\w+\.)*(?:Seq2Seq)?Trainer")
_OTHER_TRAINER = re.compile(r"(?:trl|optimum|sentence_transformers)\.(?:\w+\.)*\w*Trainer")
_HEAD = re.compile(r"transformers\.(?:\w+\.)*?\w+?(For[A-Z]\w+|LMHeadModel)(?:\.\w+)*")
_SMOOTHED = re.compile(
    r"For(?:(?:Sequence|Token|Image|Audio|Video)Classification|MaskedLM|MultipleChoice"
    r"|Seq2SeqLM|ConditionalGeneration)"
)
"""Heads whose rows have `labels`, one for each vector of logits. Those of question answering have
none, so that nothing is smoothed; those of causal language models are shifted by one."""
_ONE_LABEL = (None, "single_label_classification")


def trainer_losses(program: Program, reader: str) -> Iterator[Fact]:
    """Yield the facts about the loss of the Trainers that a program makes."""
    trainers = list(_trainers(program))
    hooks = [hook for _, scope, _ in trainers for hook in _hooks(scope, program)]
    if hooks:
        yield from returned_losses(hooks, 0, reader)
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


def _hooks(scope: Scope | None, program: Program) -> Iterator[tuple[Module, Function]]:
    """Yield the methods of a Trainer of the program that compute its loss."""
    for binding in program.attribute_bindings(scope, "compute_loss", None) if scope else ():
        if isinstance(binding.node, ast.FunctionDef):
            yield binding.module, binding.node


def _is_plain(call: Call, base: str) -> bool:
    """Whether a Trainer computes the loss as that of Transformers does."""
    function = call.argument("compute_loss_func")
    none = function is None or (isinstance(function, Known) and function.value is None)
    return none and _TRAINER.fullmatch(base) is not None


def _labelled(program: Program) -> bool:
    """Whether the models of a program are all such that the Trainer smooths their labels."""
    heads: set[str] = set()
    for call in program.calls():
        heads.update(h[1] for name in call.names if (h := _HEAD.fullmatch(name)))
        kind = call.argument("problem_type") if "problem_type" in call.bound() else Known(None)
        if not (isinstance(kind, Known) and kind.value in _ONE_LABEL):
            return False
    return bool(heads) and all(map(_SMOOTHED.fullmatch, heads))
