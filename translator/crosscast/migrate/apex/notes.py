"""What is different behind a change from apex to torch.amp, in sentences."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from crosscast.migrate.apex.scaler_creation import Start
from crosscast.migrate.apex.uses import REGISTERED, Uses

if TYPE_CHECKING:
    from crosscast.trainstep.events import TrainingStep


def notes_of(uses: Uses, start: Start, steps: Iterable[TrainingStep]) -> str:
    """Return what a user should know; empty for level O0."""
    return " ".join(_notes(uses, start, list(steps))) if not start.off else ""


def _notes_import(uses: Uses) -> bool:
    """Whether a module tries the import of apex and notes if it worked."""
    return any(
        isinstance(around := module.parent(statement), ast.Try)
        and any(isinstance(member, ast.Assign) for member in (*around.body, *around.orelse))
        for module in uses.modules()
        for statement in module.every(ast.ImportFrom)
        if statement.module == "apex"
    )


def _notes(uses: Uses, start: Start, steps: list[TrainingStep]) -> Iterator[str]:
    yield (
        "torch.amp.GradScaler needs PyTorch 2.3. Apex patched all of torch, evaluation too; "
        "autocast holds for the training pass only, so evaluation runs in float32 unless you put "
        "it into autocast. The lists of operations differ a little (GELU is float32 in apex)."
    )
    if start.by_flag:
        yield "Level O2 is now the same as O1: float32 weights under autocast."
    elif start.level == "O2":
        yield (
            "O2 held half weights and float32 copies; now the weights are float32 and are cast "
            "when they are used: the same updates, more memory. Inputs need not be cast."
        )
    if _notes_import(uses):
        yield "What told whether apex is installed is always true now: torch.amp is always there."
    if start.scale:
        yield (
            "With a constant scale apex applied gradients that overflowed; GradScaler skips "
            "that step and halves the scale for good."
        )
    if (start.dynamic or not start.scale) and start.highest is None:
        yield "GradScaler has no highest scale, apex stopped at 2**24."
    if uses.of(REGISTERED):
        yield "What was registered to compute in half does so under autocast by itself."
    if any(step.windowed for step in steps):
        yield (
            "Apex counted backward passes, GradScaler counts steps: with accumulation the scale "
            "grows after 2000 steps, not after 2000 micro-batches, and is halved once a window."
        )
    if start.losses or any("loss_id" in call.bound() for call in uses.of("scale_loss")):
        yield "All losses share one scale; apex had one each."
    if uses.of("state_dict") or uses.of("load_state_dict"):
        yield "The saved state of the scaler has another form: older checkpoints do not fit."
    if any(step.of("schedule") for step in steps):
        yield (
            "A learning rate schedule moves on when a step is skipped, as before; PyTorch warns "
            "if that is the first one."
        )
