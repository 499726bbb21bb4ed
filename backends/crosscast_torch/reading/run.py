"""Reads a PyTorch run as a whole: framework, batch size, epochs, seed, sequence length, TF32."""

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
from crosscast_reading.readers.python.loaders import batch_facts
from crosscast_reading.readers.python.seeds import first_argument, seed_facts

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.program import Program

NAME = "torch_run"
_PACKAGES = packages_of("pytorch")
_SHARED = packages_of("")
_SEEDS = re.compile(
    r"torch\.(random\.)?manual_seed|(transformers|accelerate\.utils|accelerate|transformers"
    r"\.trainer_utils)\.set_seed|(pytorch_lightning|lightning(\.\w+)?)\.seed_everything"
)
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
            writer.facts += batch_facts(program, NAME)
            writer.facts += seed_facts(program, "pytorch", _SEEDS, NAME)
            _epochs(writer, program)
            _of_flags(writer, program, "data.sequence_length", _LENGTHS)
            _tf32(writer, program)
        yield from writer.facts


def _like_torch(program: Program) -> bool:
    """Whether gradients are cleared and computed with PyTorch's methods."""
    methods = {call.method for module in program.modules for call in module.calls}
    return {"zero_grad", "backward", "step"} <= methods


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
    flags = [(name, program.flags[name]) for name in names if name in program.flags]
    for name, flag in flags:
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
