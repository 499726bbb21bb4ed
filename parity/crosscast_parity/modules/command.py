"""Compare the modules of a recipe's custom models, with the weights that `weights.yaml` says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from crosscast.recipe.document import CustomLoss
from crosscast.weights.convert import framework_arrays
from crosscast.weights.document import NAME, WeightsMap
from crosscast.weights.reader import check_against, read_weights
from crosscast_parity.inputs.custom import CustomModels
from crosscast_parity.modules.judgement import Judgement, judge
from crosscast_parity.modules.losses import losses_by_rows, losses_of
from crosscast_parity.modules.metrics import compare_metrics
from crosscast_parity.modules.training import custom_models
from crosscast_parity.weights.assembly import unmatched
from crosscast_parity.weights.command import Request, processes_of
from crosscast_parity.weights.model import Model
from crosscast_parity.weights.proof import drawn_weights
from crosscast_parity.weights.search import filled, search
from crosscast_parity.weights.workers import Processes


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a comparison of modules has found.

    `known`: the map of weights. `matched`: whether it was searched, because there was no file.
    `left`: by framework the tensors that have no counterpart. `state`: whether the state that
    training changes was compared. `metrics`: whether the user's metrics were, or there are none.
    `trained`: what runs of the models begin with.
    """

    known: WeightsMap
    matched: bool
    left: dict[str, list[str]]
    state: bool
    metrics: bool
    judgements: Sequence[Judgement]
    trained: CustomModels | None = None

    @property
    def same(self) -> bool:
        """Whether all frameworks have the same model, and every tensor its counterpart."""
        return all(j.same for j in self.judgements) and not any(self.left.values())

    @property
    def trains_alike(self) -> bool:
        """Whether the models can be trained and compared: from the same weights, nothing that was
        found changes what they learn."""
        return all(j.trains_alike for j in self.judgements) and not any(self.left.values())

    @property
    def beside_training(self) -> list[str]:
        """Kinds of differences of models that can be trained and compared all the same."""
        if not self.trains_alike:
            return []
        certain = (d for j in self.judgements for d in j.differences if d.certain)
        return list(dict.fromkeys(difference.kind for difference in certain))


def compare_modules(request: Request) -> Result:
    """Compare the modules of a recipe's models in all frameworks with those of the first one.

    Raises:
        DiagnosticError: CC760 to CC763, as for `crosscast weights`.
    """
    path = request.folder / NAME
    with processes_of(request) as processes:
        return compare_with(processes, path if path.exists() else None, request)


def compare_with(processes: Processes, path: Path | None, request: Request) -> Result:
    """Compare modules in processes that run; without a file the weights are matched first."""
    models: Sequence[Model] = processes.describe()
    if path is None:
        matched = search(models, processes)
        known, models = matched.known, matched.models
    else:
        known = _of_models(read_weights(str(path)), models)
        for model in models:
            check_against(known, model.framework, model.shapes, model.fixed)
    drawn = drawn_weights(known, models, filled(known, models))
    weights = {name: framework_arrays(drawn, known, name) for name in known.frameworks}
    initial = {name: processes.initial(name) for name in known.frameworks}
    evaluated = processes.record("modules", weights, models)
    # A custom loss calls the model itself: how it would in training is not known.
    state = not isinstance(request.recipe.loss, CustomLoss)
    trained = processes.record("train", weights, models) if state else {}
    losses = {} if state else losses_of(request.recipe)
    judgements = judge(known, models, drawn, evaluated, trained, losses)
    if losses:
        known_so_far = {j.comparison.other: j.differences for j in judgements}
        more = losses_by_rows(processes, request.recipe, known.frameworks, weights, known_so_far)
        judgements = [replace(j, differences=tuple(more[j.comparison.other])) for j in judgements]
    left = unmatched(known, models)
    alike = all(judgement.trains_alike for judgement in judgements) and not any(left.values())
    if alike:
        metrics = compare_metrics(processes, request.recipe, known.frameworks, weights)
        judgements = [
            replace(j, differences=(*j.differences, *metrics[j.comparison.other]))
            for j in judgements
        ]
    first = known.frameworks[0]
    other_variances = {j.comparison.other: j.other_variances for j in judgements}
    by_seed = {seed: processes.drawn(first, seed) for seed in request.seeds}
    return Result(
        known=known,
        matched=path is None,
        left={name: [part.text for part in rest] for name, rest in left.items() if rest},
        state=state,
        metrics=alike or not request.recipe.metrics.custom,
        judgements=judgements,
        trained=custom_models(
            known, models, initial, drawn, request.folder, by_seed, other_variances
        ),
    )


def _of_models(known: WeightsMap, models: Sequence[Model]) -> WeightsMap:
    """Return the map of these frameworks, in their order."""
    names = tuple(model.framework for model in models)
    entries = []
    for entry in known.entries:
        places = {name: entry.places[name] for name in names if name in entry.places}
        if places:
            entries.append(replace(entry, places=places))
    left = {name: known.left.get(name, ()) for name in names}
    return replace(known, frameworks=names, entries=tuple(entries), left=left)
