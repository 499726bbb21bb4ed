"""CM105: manual half precision to torch.amp."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from crosscast_migrate.codemod import Change, Codemod, Outcome, Refusal
from crosscast_reading.edits.layout import Draft, block_of
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_torch.migration.experimental.apex.forward import Region, regions_of
from crosscast_torch.migration.experimental.apex.imports import is_of_fp16_utils
from crosscast_torch.migration.experimental.apex.scaler_creation import NEVER
from crosscast_torch.migration.experimental.apex.uses import Site, Stops
from crosscast_torch.migration.experimental.apex.wrapped import is_wrapped
from crosscast_torch.migration.experimental.manual.examples import MANUAL
from crosscast_torch.migration.experimental.manual.helpers import (
    GRADIENTS,
    HALF,
    LISTS,
    WEIGHTS,
    halved,
    helper_of,
    idle_imports,
)
from crosscast_torch.migration.experimental.manual.masters import Masters, masters_in, understand
from crosscast_torch.migration.experimental.torch_name import torch_in

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.sources.subject import Subject

_HELPERS = {
    "FP16_Optimizer": "it stores float32 copies and a loss scale",
    HALF: "it converts the weights to half",
    LISTS: "it creates float32 copies of the weights",
    WEIGHTS: "it copies float32 weights back",
    GRADIENTS: "it copies gradients to float32",
}
_HOMES = ("apex.fp16_utils.", "apex.optimizers.", "apex.contrib.optimizers.")
_NOTE = (
    "The weights are now float32 and are cast when used: the updates are the same, and saved "
    "weights are float32. A gradient that overflows skips the step and halves the scale "
    "permanently; the manual code applied it to the weights. Evaluation runs in float32 unless you "
    "wrap it in autocast."
)
_KEYS = "The keys of saved weights begin without the `1.` of network_to_half."


def run(subject: Subject) -> Iterator[Outcome]:
    """Migrate loops with float32 copies and a constant scale; refuse other forms."""
    for module in subject.program.modules:
        moved: set[int] = set()
        if any(call.method == "half" or helper_of(module, call.node) for call in module.calls):
            for found in masters_in(module):
                stops = Stops()
                understand(found, stops)
                regions = _regions(found, subject, stops) if not stops.refusals else []
                if stops.refusals:
                    yield from stops.refusals
                    continue
                moved |= _moved(found)
                what = f"{found.name}, copies of half weights, become autocast and a GradScaler"
                yield Change(
                    span=module.span(found.statement),
                    message=what,
                    edits=tuple(_write(found, regions).finish()),
                    note=f"{_NOTE} {_KEYS}" if _is_wrapping(found) else _NOTE,
                )
        yield from _helpers(module, moved)


def _moved(found: Masters) -> set[int]:
    """Return the ids of the nodes that go."""
    gone = [found.statement, *found.gone, *(half.func for half in found.halves)]
    return {id(node) for statement in gone for node in walk(statement)}


def _is_wrapping(found: Masters) -> bool:
    return any(helper_of(found.module, half) == HALF for half in found.halves)


def _helpers(module: Module, moved: set[int]) -> Iterator[Refusal]:
    """Yield refusals of the old helpers of apex, but for the calls that move."""
    if is_wrapped(module.program):
        return  # the helpers go with FP16_Optimizer
    seen: set[str] = set()
    for call in module.calls:
        func = call.node.func
        word = call.name.rpartition(".")[2]
        word = word.rpartition(":")[2] or getattr(func, "id", "")
        of_apex = call.name.startswith(_HOMES) or is_of_fp16_utils(func, word, module)
        known = word in _HELPERS and (of_apex or ":" in call.name)
        if known and word not in seen and id(func) not in moved:
            seen.add(word)
            owner = "apex" if of_apex else "this program"
            yield Refusal(
                span=module.span(call.node),
                message=f"{word} of {owner}: {_HELPERS[word]}; other code may depend on it",
                hint="remove it and model.half(), wrap the forward pass in "
                'torch.amp.autocast("cuda", dtype=torch.float16), and use a GradScaler for the '
                "loss and the step",
            )


def _regions(found: Masters, subject: Subject, stops: Stops) -> list[Region]:
    module = found.module
    assert found.loss is not None
    assert found.backward is not None
    anchor = cast(ast.With, found.scaled[0])
    record = module.call(found.backward)
    site = Site(record, anchor, found.loss, (found.optimizer_name,), found.backward, None)
    regions = regions_of([site], subject.steps, (found.model,), stops)
    assert found.step is not None
    for clip in found.clips:
        statement = module.statement_of(clip)
        if statement is None or statement not in block_of(module, found.step):
            stops.add(
                module,
                clip,
                "gradients are clipped in another block than the optimizer step",
                "clip once, right before the optimizer step",
            )
    if _is_taken(module):
        stops.add(module, found.statement, "the name scaler is already used", "rename it")
    return regions


def _is_taken(module: Module) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "scaler" for node in module.nodes)


def _write(found: Masters, regions: list[Region]) -> Draft:
    module, draft = found.module, Draft(found.module)
    torch = torch_in(draft)
    assert found.optimizer is not None
    assert found.given is not None
    assert found.loss is not None
    assert found.scale is not None
    assert found.backward is not None
    assert found.step is not None
    scale = module.text(found.scale)
    for half in found.halves:
        statement = module.statement_of(half)
        if isinstance(statement, ast.Expr) and statement.value is half:
            draft.remove(statement)
        elif _is_self(statement, half, module):
            draft.remove(cast(ast.stmt, statement))
        else:
            draft.replace(half, module.text(halved(half)))
    draft.remove(found.statement, *found.gone, *idle_imports(module, _moved(found)))
    draft.replace(found.given, found.parameters)
    draft.after(
        found.optimizer,
        f'scaler = {torch}.amp.GradScaler("cuda", init_scale={scale}, growth_interval={NEVER})',
    )
    for region in regions:
        head = f'with {torch}.amp.autocast("cuda", dtype={torch}.float16):'
        draft.enclose(region.statements[0], region.statements[-1], head)
    draft.remove(*found.scaled[:-1])
    given = ", ".join(module.text(keyword) for keyword in found.backward.keywords)
    loss = module.text(found.loss)
    draft.replace(found.scaled[-1], f"scaler.scale({loss}).backward({given})")
    for number, clip in enumerate(found.clips):
        if not number:
            statement = cast(ast.stmt, module.statement_of(clip))
            draft.before(statement, f"scaler.unscale_({found.optimizer_name})")
        draft.replace(clip, found.parameters)
    draft.replace(found.step, f"scaler.step({found.optimizer_name})")
    draft.after(found.step, "scaler.update()")
    return draft


def _is_self(statement: ast.stmt | None, half: ast.Call, module: Module) -> bool:
    """Whether a statement is `model = model.half()`."""
    return (
        isinstance(statement, ast.Assign)
        and statement.value is half
        and len(statement.targets) == 1
        and module.text(statement.targets[0]) == module.text(halved(half))
    )


CODEMOD = Codemod(
    code="CM105",
    name="manual-fp16",
    api="torch.amp",
    title="half weights with float32 copies and a constant scale become autocast and a GradScaler",
    hints=(".half()", *_HELPERS),
    examples=MANUAL,
    run=run,
)
