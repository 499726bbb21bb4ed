"""`crosscast weights`: match the weights of a recipe's models, or check a file that does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from crosscast.messages.diagnostics import Diagnostic, failure
from crosscast.recipe.document import CustomLoss, CustomModel, Recipe
from crosscast.weights.document import Entry, WeightsMap
from crosscast.weights.reader import check_against, read_weights
from crosscast_parity.toy.worker import Worker
from crosscast_parity.weights.proof import Proof, marked, prove
from crosscast_parity.weights.report import heading
from crosscast_parity.weights.rows import rows_of, rows_wanted, sample_rows
from crosscast_parity.weights.search import Found, filled, search
from crosscast_parity.weights.workers import Processes, Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A recipe, its folder, and how its models are run.

    `seeds`: with which the first framework's weights are drawn, besides the recipe's.
    """

    recipe: Recipe
    folder: Path
    targets: Sequence[str] = ()
    rows: Path | None = None
    python: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 300.0
    seeds: Sequence[int] = ()


def match(request: Request) -> Found:
    """Match the weights of the models of a recipe.

    Raises:
        DiagnosticError: CC760 for a recipe without models to match, CC761 and CC762 for models
            that fail.
    """
    with processes_of(request) as processes:
        result = search(processes.describe(), processes)
    known = replace(result.known, heading=heading(result.known, result.proof))
    return replace(result, known=known)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A file of weights with what was proved, and what a search finds instead."""

    known: WeightsMap
    proof: Proof
    corrections: Sequence[Diagnostic]


def check(request: Request, path: str) -> Checked:
    """Prove a file of weights on the models of a recipe.

    Raises:
        DiagnosticError: CC763 for a file that does not fit the models, and as `match`.
    """
    known = read_weights(path)
    wanted = {target.partition("@")[0]: target for target in request.targets}
    targets = [wanted.get(name, name) for name in known.frameworks]
    with processes_of(replace(request, targets=targets)) as processes:
        models = processes.describe()
        for model in models:
            check_against(known, model.framework, model.shapes, model.fixed)
        proof = prove(known, models, processes, filled(known, models))
        differing = [] if proof.whole(known) else corrections(known, search(models, processes))
    return Checked(known=marked(known, proof), proof=proof, corrections=differing)


def corrections(known: WeightsMap, result: Found) -> list[Diagnostic]:
    """Return where a search that proves its result has another tensor, or another layout."""
    if not result.proof.whole(result.known):
        return []
    first = known.frameworks[0]
    searched = {_key(entry, first): entry for entry in result.known.entries}
    diagnostics = []
    for entry in known.entries:
        other = searched.get(_key(entry, first))
        if other is None:
            continue
        for framework, place in entry.places.items():
            other_place = other.places.get(framework)
            if other_place is None or (other_place.name, other_place.layout) == (
                place.name,
                place.layout,
            ):
                continue
            name = (
                other_place.name
                if other_place.name != place.name
                else f"another layout of {place.name}"
            )
            message = f"{framework}: {entry.name!r} is {name}"
            diagnostics.append(Diagnostic(code="CC765", message=message, span=place.span))
    return diagnostics


def _key(entry: Entry, framework: str) -> tuple[object, ...]:
    place = entry.places.get(framework)
    return (place.name, place.layout.part, place.layout.term) if place else (entry.name,)


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
        for metric, functions in request.recipe.metrics.custom.items():
            if name not in functions:
                raise failure("CC760", f"`metrics.custom.{metric}` has none for {name}")
    return targets


def processes_of(request: Request, workers: Mapping[str, Worker] | None = None) -> Processes:
    """Return the processes of the models of a request.

    Args:
        request: The recipe and its models.
        workers: By framework, to go on afterwards; by default they end with the processes.

    Raises:
        DiagnosticError: CC760 for a recipe without models to compare, CC601, CC602 for its rows.
    """
    return Processes(
        request.recipe,
        targets_of_models(request),
        request.folder,
        _rows(request),
        python=request.python,
        timeout=request.timeout,
        workers=workers,
    )


def _rows(request: Request) -> Rows:
    count = rows_wanted(request.recipe)
    if request.rows is not None:
        return rows_of(request.rows, request.recipe, count)
    return sample_rows(request.recipe, count, request.folder)
