"""Reads the rest of a PyTorch run: framework, batch size, epochs, seed, sequence length, TF32."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.libraries.packages import TRAINING, packages_of
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.fact_writer import FactWriter, content, place_of, trains
from crosscast_reading.readers.python.library_calls import last, matching, uses
from crosscast_reading.readers.python.seeds import first_argument, seed_facts
from crosscast_reading.readers.python.shuffling import tell_of_loader
from crosscast_reading.trainstep.steps.search import training_steps

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.program import Program

NAME = "torch_run"
_PACKAGES = packages_of("pytorch")
_SHARED = packages_of("")
_LOADER = re.compile(r"(torch\.utils\.data\.(dataloader\.)?|paddle\.io\.)DataLoader")
_EVALUATION = re.compile(r"val|test|eval|dev|valid|infer|predict", re.I)
_LENGTHS = (
    "max_seq_length",
    "max_seq_len",
    "seq_length",
    "seq_len",
    "sequence_length",
    "block_size",
)
_EPOCHS = ("num_train_epochs", "num_epochs", "epochs", "max_epochs", "n_epochs", "epoch")


class TorchRun:
    """Reads facts about the run as a whole."""

    name = NAME
    hints = ("torch", "lightning", "accelerate", "transformers", "deepspeed", "zero_grad")

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield the facts about the run as a whole."""
        writer = FactWriter(NAME)
        foreign = uses(program, *(TRAINING - _PACKAGES - _SHARED))
        own = uses(program, *_PACKAGES)
        if not own and not uses(program, *_SHARED):
            if not foreign and _like_torch(program):
                writer.say("framework", "pytorch", confidence="likely")
                yield from writer.facts
            return
        if own or not foreign:
            sure = own and (trains(program) or not foreign)
            writer.say("framework", "pytorch", confidence="certain" if sure else "guess")
        if trains(program):
            _batch(writer, program)
            writer.facts += seed_facts(program, "pytorch", NAME)
            _epochs(writer, program)
            _of_flags(writer, program, "data.sequence_length", _LENGTHS)
            _tf32(writer, program)
        yield from writer.facts


def _like_torch(program: Program) -> bool:
    """Whether gradients are cleared and computed with PyTorch's methods."""
    methods = {call.method for module in program.modules for call in module.calls}
    return {"zero_grad", "backward", "step"} <= methods


def batch_facts(program: Program, reader: str) -> Iterator[Fact]:
    """Yield the batch size of the loader that the program trains with, and its short last batch."""
    writer = FactWriter(reader)
    _batch(writer, program)
    yield from writer.facts


_CUTS = re.compile(
    r"\.(split|chunk|tensor_split)\(|\b(split|chunk|tensor_split|array_split)\("
    r"|range\(0, (len\(\w+\)|\w+\.(shape\[0\]|size\(0\))), "
)


def _cut(program: Program) -> str | None:
    """Return what a loop over micro-batches cuts a batch into, as text; None if it does not."""
    overs = [
        loop.over
        for step in training_steps(program)
        for event in step.inside("backward")
        for loop in event.loops
        if loop.role == "micro" and _CUTS.search(loop.over)
    ]
    return overs[0] if overs else None


def _batch(writer: FactWriter, program: Program) -> None:
    """Record the batch size of the first loader that is not for evaluation."""
    loaders = list(_loaders(program))
    if not loaders:
        return
    call = loaders[0]
    if (cut := _cut(program)) is not None:
        reason = "micro-batches are cut from a batch"
        writer.unknown("batch.micro_batch_size", reason, place_of(call), expression=cut)
    else:
        writer.number("batch.micro_batch_size", call.argument("batch_size"), place_of(call))
    tell_of_loader(writer, call)
    if len({_kept(loader) for loader in loaders}) == 1:
        _last(writer, call)
    else:
        writer.unknown("batch.drop_last", "loaders differ", *map(place_of, loaders))


def _kept(loader: Call) -> str:
    """Return what a loader says of a short last batch, as it is written."""
    said = loader.bound().get("drop_last")
    return loader.module.text(said) if said is not None else "False"


def _loaders(program: Program) -> Iterator[Call]:
    for _, call in matching(program, _LOADER):
        statement = call.module.statement_of(call.node)
        function = call.module.function_of(call.node)
        text = call.module.text(call.node)[:200]
        where = function.name if function is not None else ""
        if isinstance(statement, ast.Assign):
            where += " " + call.module.text(statement.targets[0])
        if _EVALUATION.search(where) or (_EVALUATION.search(text) and "train" not in text):
            continue
        if call.bound().get("batch_size") is not None:
            yield call


def _last(writer: FactWriter, call: Call) -> None:
    """Record what a loader does with a short last batch; it keeps it unless it is told to."""
    if "drop_last" in call.bound():
        drops = content(call.argument("drop_last"))
        if isinstance(drops, bool):
            writer.say("batch.drop_last", "yes" if drops else "no", place_of(call))
        else:
            text = call.module.text(call.bound()["drop_last"])
            writer.unknown("batch.drop_last", "a setting decides", place_of(call), expression=text)
    elif not call.has_star:
        writer.say("batch.drop_last", "no", place_of(call))


def _epochs(writer: FactWriter, program: Program) -> None:
    """Record the number of epochs from `for epoch in range(...)`, else from a flag."""
    for module in program.modules:
        for node in module.every(ast.For):
            if module.is_dead(node):
                continue
            over = node.iter
            if isinstance(over, ast.Call) and last(module.resolve(over.func)) in ("trange", "tqdm"):
                inner = over.args[0] if over.args else None
                over = inner if isinstance(inner, ast.Call) else over
            if "epoch" not in module.text(node.target) or not isinstance(over, ast.Call):
                continue
            if module.text(over.func) not in ("range", "trange"):
                continue
            match over.args:
                case [ast.Constant(value=int(first)), limit, *_]:
                    pass
                case [limit] | [_, limit, *_]:  # it may go on after an interruption
                    first = 0
                case _:
                    continue
            value = evaluate(limit, module)
            match value:
                case Known(value=int() | float() as number) if number > first:
                    value = replace(value, value=number - first)
                    writer.value("run.epochs", value, module.span(limit))
                    return
    _of_flags(writer, program, "run.epochs", _EPOCHS)


def _of_flags(writer: FactWriter, program: Program, field: str, names: Iterable[str]) -> None:
    """Record the number of the first flag of some names whose value is known."""
    found = [(name, program.flags[name]) for name in names if name in program.flags]
    for name, flag in found:
        match flag.value:
            case Known(value=value):
                writer.number(field, Known(value, "flag", name), flag.span)
                return


def _tf32(writer: FactWriter, program: Program) -> None:
    for module in program.modules:
        for node in module.every(ast.Assign):
            if module.text(node.targets[0]) != "torch.backends.cuda.matmul.allow_tf32":
                continue
            if module.is_dead(node):
                continue
            value = content(evaluate(node.value, module))
            if isinstance(value, bool):
                writer.say("precision.tf32", "yes" if value else "no", module.span(node))
                return
    for _, call in matching(program, re.compile(r"torch\.set_float32_matmul_precision")):
        word = content(first_argument(call, "precision"))
        if isinstance(word, str):
            writer.say("precision.tf32", "no" if word == "highest" else "yes", place_of(call))
            return


READER = TorchRun()
