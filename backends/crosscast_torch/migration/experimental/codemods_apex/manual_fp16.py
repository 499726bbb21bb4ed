"""CM105: half precision by hand is named, never changed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Codemod, Example, Outcome, Refusal
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_torch.migration.experimental.apex.imports import is_of_fp16_utils
from crosscast_torch.migration.experimental.apex.wrapped import is_wrapped

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.sources.subject import Subject

_HELPERS = {
    "FP16_Optimizer": "it stores float32 copies and a loss scale",
    "network_to_half": "it converts the weights to half",
    "prep_param_lists": "it creates float32 copies of the weights",
    "master_params_to_model_params": "it copies float32 weights back",
    "model_grads_to_master_grads": "it copies gradients to float32",
}
_HOMES = ("apex.fp16_utils.", "apex.optimizers.", "apex.contrib.optimizers.")
_COPYING = frozenset({"clone", "detach", "float", "to", "type", "requires_grad_", "cuda"})
_HINT = (
    "remove it and model.half(), wrap the forward pass in "
    'torch.amp.autocast("cuda", dtype=torch.float16), and use a GradScaler for the '
    "loss and the step"
)


def run(subject: Subject) -> Iterator[Outcome]:
    """Name the helpers of apex for half weights, and float32 copies made by the program."""
    for module in subject.program.modules:
        yield from _helpers(module)
        yield from _copies(module)


def _helpers(module: Module) -> Iterator[Refusal]:
    """Yield the first call of every helper."""
    if is_wrapped(module.program):
        return  # the helpers go with FP16_Optimizer
    seen: set[str] = set()
    for call in module.calls:
        func = call.node.func
        word = call.name.rpartition(".")[2]
        word = word.rpartition(":")[2] or getattr(func, "id", "")
        of_apex = call.name.startswith(_HOMES) or is_of_fp16_utils(func, word, module)
        if word in _HELPERS and (of_apex or ":" in call.name) and word not in seen:
            seen.add(word)
            owner = "apex" if of_apex else "this program"
            yield Refusal(
                span=module.span(call.node),
                message=f"{word} of {owner}: {_HELPERS[word]}; other code may depend on it",
                hint=_HINT,
            )


def _copies(module: Module) -> Iterator[Refusal]:
    """Yield the float32 copies of weights that a module with `.half()` makes in a list."""
    if not any(call.method == "half" for call in module.calls):
        return
    for statement in module.every(ast.Assign):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.ListComp() as copies) if (
                model := _copied(copies)
            ):
                yield Refusal(
                    span=module.span(statement),
                    message=f"half precision by hand: {name} has float32 copies of half weights",
                    hint="remove model.half(), the copies, and the loops that fill and read them; "
                    f"pass {module.text(model)}.parameters() to the optimizer, wrap the forward "
                    'pass in torch.amp.autocast("cuda", dtype=torch.float16), and let '
                    'torch.amp.GradScaler("cuda", init_scale=...) scale the loss, unscale before '
                    "clipping, and step",
                )


def _copied(copies: ast.ListComp) -> ast.expr | None:
    """Return the model of `[p.detach().clone().float() for p in model.parameters()]`."""
    match copies.generators:
        case [
            ast.comprehension(
                target=ast.Name(id=weight),
                iter=ast.Call(func=ast.Attribute(value=model, attr="parameters"), args=[]),
            )
        ]:
            words = {part.attr for part in walk(copies.elt) if isinstance(part, ast.Attribute)}
            names = {part.id for part in walk(copies.elt) if isinstance(part, ast.Name)}
            casts = any("float" in word.lower() for word in words)
            return model if casts and weight in names and words & _COPYING else None
    return None


_LOOP = """\
import torch

SCALE = 1024.0
model = torch.nn.Linear(4, 2).cuda().half()
masters = [p.detach().clone().float() for p in model.parameters()]
optimizer = torch.optim.SGD(masters, lr=0.1, momentum=0.9)
for inputs, targets in loader:
    loss = torch.nn.functional.cross_entropy(model(inputs.half()).float(), targets)
    (loss * SCALE).backward()
    for master, p in zip(masters, model.parameters()):
        master.grad = p.grad.detach().float() / SCALE
    optimizer.step()
    with torch.no_grad():
        for master, p in zip(masters, model.parameters()):
            p.copy_(master)
"""
_INFERENCE = """\
import torch

model = torch.nn.Linear(4, 2).cuda().half()
with torch.no_grad():
    outputs = model(inputs.half())
"""
_LISTS = """\
from apex.fp16_utils import prep_param_lists

model = model.half()
parameters, masters = prep_param_lists(model)
"""
CODEMOD = Codemod(
    code="CM105",
    name="manual-fp16",
    api="torch.amp",
    title="half weights with float32 copies made by hand, or by helpers of apex, are named",
    hints=(".half()", *_HELPERS),
    examples=(
        Example(before=_LOOP, after=_LOOP, refused="masters has float32 copies of half weights"),
        Example(before=_INFERENCE, after=_INFERENCE),
        Example(before=_LISTS, after=_LISTS, refused="prep_param_lists of apex"),
    ),
    run=run,
    names_only=True,
)
