"""`crosscast weights`: match the weights of a recipe's models, or check a file that does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from crosscast.messages.diagnostics import failure
from crosscast.recipe.document import CustomLoss, CustomModel, Recipe
from crosscast.weights.document import WeightsMap
from crosscast.weights.reader import check_against, read_weights
from crosscast_parity.weights.proof import Proof, marked, prove
from crosscast_parity.weights.report import heading
from crosscast_parity.weights.rows import ROWS, rows_of, sample_rows
from crosscast_parity.weights.search import Found, filled, search
from crosscast_parity.weights.workers import Processes, Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A recipe, its folder, and how its models are run."""

    recipe: Recipe
    folder: Path
    targets: Sequence[str] = ()
    rows: Path | None = None
    python: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 300.0


def match(request: Request) -> Found:
    """Match the weights of the models of a recipe.

    Raises:
        DiagnosticError: CC760 for a recipe without models to match, CC761 and CC762 for models
            that fail.
    """
    with _processes(request, targets_of_models(request)) as processes:
        found = search(processes.describe(), processes)
    known = replace(found.known, heading=heading(found.known, found.proof))
    return replace(found, known=known)


def check(request: Request, path: str) -> tuple[WeightsMap, Proof]:
    """Prove a file of weights on the models of a recipe.

    Raises:
        DiagnosticError: CC763 for a file that does not fit the models, and as `match`.
    """
    known = read_weights(path)
    wanted = {target.partition("@")[0]: target for target in request.targets}
    targets = [wanted.get(name, name) for name in known.frameworks]
    with _processes(request, targets_of_models(replace(request, targets=targets))) as processes:
        models = processes.describe()
        for model in models:
            fixed = {part.tensor for part in model.parts if part.fixed}
            check_against(known, model.framework, model.shapes, {*fixed, *model.counters})
        proof = prove(known, models, processes, filled(known, models))
    return marked(known, proof), proof


def targets_of_models(request: Request) -> list[str]:
    """Return the targets whose models are compared; by default all that the recipe has.

    Raises:
        DiagnosticError: CC760.
    """
    model, loss = request.recipe.model, request.recipe.loss
    if not isinstance(model, CustomModel):
        hint = "the shipped BERT has the same weights in every framework"
        raise failure("CC760", "the recipe has no `model.kind: custom`", hint)
    targets = list(request.targets or model.factory)
    names = [target.partition("@")[0] for target in targets]
    if len(set(names)) < 2 or len(set(names)) < len(names):
        raise failure("CC760", f"needs two or more frameworks, not {', '.join(targets)}")
    for name in names:
        if name not in model.factory:
            raise failure("CC760", f"`model.factory` has none for {name}")
        if isinstance(loss, CustomLoss) and name not in loss.function:
            raise failure("CC760", f"`loss.function` has none for {name}")
    return targets


def _processes(request: Request, targets: Sequence[str]) -> Processes:
    return Processes(
        request.recipe,
        targets,
        request.folder,
        _rows(request),
        python=request.python,
        timeout=request.timeout,
    )


def _rows(request: Request) -> Rows:
    if request.rows is not None:
        return rows_of(request.rows, request.recipe, ROWS)
    return sample_rows(request.recipe, ROWS, request.folder)
