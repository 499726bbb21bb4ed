"""Why a line of an emitted script carries no field of the recipe."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from crosscast.explore.script_lines import Place, ScriptLines
from crosscast.plan.operations import OPS

STEP = ("train_window", "full_window", "window_step", "micro_step")
"""The function of a script that makes one optimizer step, and the parts that are compiled where a
framework compiles them."""
FILE = "train.py"


@dataclass(frozen=True, slots=True)
class Reason:
    """Lines of the training step that are the same for every recipe, and why."""

    pattern: str
    """A regular expression that matches the whole line, without its indentation."""
    why: str


REASONS: tuple[Reason, ...] = (
    Reason(r"model(, device)? = state\..*", "A short name for a part of the state."),
    Reason(
        r"variables = .*|with \w+\.GradientTape\(\) as tape:|gradients = \[total\.value.*"
        r"|weights = (state\.)?arrays\.weights",
        "The weights, and the record of what is computed with them, from which gradients come.",
    ),
    Reason(
        r"return loss|return \w+\.stack\(\[window_loss.*"
        r"|return (rest, totals, .*|arrays, \{.*)",
        "What the compiled part hands back.",
    ),
    Reason(
        r"rest, \w+, window_loss = sums",
        "What a window has added up: gradients, the loss; and what the model holds beside weights.",
    ),
    Reason(
        r"def forward\(.*|model = nnx\.merge\(.*|return \w+, \(loss, nnx\.state\(.*",
        "The function whose gradients are taken; the model is put together in it.",
    ),
    Reason(
        r"def add\($|sums: tuple\[.*|\) -> tuple\[tuple.*|return micro_step\(.*"
        r"|sums, _ = jax\.lax.*|sums = begin_window\(.*",
        "Goes through the micro-batches: in the compiled part, or one after the other.",
    ),
    Reason(
        r"rows = sum\(.*|n_micro = len\(.*",
        "Counts what is in the window, for the divisor of the loss and for the trace.",
    ),
    Reason(
        r"for group in state\.optimizer\.param_groups:",
        "The optimizer keeps a rate for every group of parameters; each gets the scheduled rate.",
    ),
    Reason(
        r"numbers = \{",
        "The numbers that a compiled window gets: as constants they would be compiled again.",
    ),
    Reason(
        r"window_loss = \w+\.(zeros|float32)\(.*\)",
        "The loss of the window, before its first term.",
    ),
    Reason(
        r"window_loss \+= micro_step\(.*\)|sums = add_micro_batch\(.*\)"
        r"|(result =|return) window_step\(.*\)",
        "Calls a compiled part of the step, which is above.",
    ),
    Reason(
        r"(filling|feed|\(loss,\)) = .*|batch = micro_batches\[.*|window_loss \+= .*item\(\)",
        "Runs the static program with a micro-batch; what fills up a short window weighs nothing.",
    ),
    Reason(
        r"(shapes|stacked) = .*|else:(  # a short .*)?|for batch in micro_batches:"
        r"|batch = \{name.*",
        "Decides whether the compiled function for full windows fits, and stacks its input.",
    ),
    Reason(
        r"\w+, grad_norm(, finite)? = .*\.tolist\(\).*|grad_norm = .*\.item\(\)"
        r"|row = \{name: number\.item\(\).*",
        "Fetches what the trace needs from the device, once per window.",
    ),
    Reason(
        r"state\.(windows|updates) \+= 1",
        "Counts windows and updates, for the trace and for checkpoints.",
    ),
    Reason(
        r'return \{|"[a-z_]+": .*,|\}( \| row)?',
        "The row of the trace. Every script writes the same columns, so that runs can be compared.",
    ),
)
"""What is dark in the training step for any recipe. Operations have their own description."""

SIGNATURE = "The signature. Every script has it: what observes a run calls this function."
DESCRIPTION = "A description for readers."
UNCHANGED = "No value of a field that was tried changes this line."
"""Of a line outside the training step."""


def dark_lines(text: str, lines: ScriptLines, file: str = FILE) -> Mapping[int, str]:
    """Return the lines of the training step that carry no field, with the reason; empty for none.

    Args:
        text: Of the file.
        lines: What its lines carry.
        file: Name of the file.
    """
    written = text.split("\n")
    operations = {place: kind for kind, places in lines.operations.items() for place in places}
    lit = {place for field in lines.fields.values() for place in field.own | field.related}
    reasons = {}
    for number, why in _step(text):
        line, place = written[number - 1].strip(), (file, number)
        if line and place not in lit:
            reasons[number] = why or _reason(line, place, operations)
    return reasons


def _reason(line: str, place: Place, operations: Mapping[Place, str]) -> str:
    if place in operations:
        return f"The operation {operations[place]}: {meaning_of(operations[place])}"
    return next((row.why for row in REASONS if re.fullmatch(row.pattern, line)), "")


def meaning_of(operation: str) -> str:
    """Return the meaning of a Plan's operation, in a sentence or two; empty if there is none."""
    docs = {op.kind: " ".join((op.__doc__ or "").split("\n\n")[0].split()) for op in OPS}
    return docs.get(operation, "")


def _step(text: str) -> Iterator[tuple[int, str]]:
    """Yield the numbers of the lines of the training step, with the reason of those before code."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in STEP:
            has_docstring = ast.get_docstring(node, clean=False) is not None
            for number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                if number < node.body[0].lineno:
                    yield number, SIGNATURE
                else:
                    described = has_docstring and number <= (node.body[0].end_lineno or 0)
                    yield number, DESCRIPTION if described else ""
