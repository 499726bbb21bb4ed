"""Recipes and scripts as sides of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from crosscast.explore.subject import Origin, Side
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, Severity
from crosscast.messages.source import STDIN, Source
from crosscast.messages.unread import unread_parts
from crosscast.plan.canonical import canonical_plan
from crosscast.recipe.document import Recipe
from crosscast.recipe.fill_in import FILL_IN
from crosscast.recipe.load import Loaded, load_placed
from crosscast.recipe.yaml_source import YamlDocument
from crosscast.targets.backend import find_target
from crosscast.variations.changes import built, changed
from crosscast_reading.lift.batch import read_sources
from crosscast_reading.lift.drafting import Lifted
from crosscast_reading.lift.plan_comparison import operation_places
from crosscast_reading.lift.recipe_diff import is_recipe, lifted_at
from crosscast_reading.lift.recipe_draft import Filled

FACTORY = "model:build_model"
"""Stands for the user's model on a target for which the source does not name one."""
_DERIVED = {"schedule.warmup_ratio": "schedule.warmup_steps"}


def side_at(path: str, targets: Sequence[str], versions: Mapping[str, str]) -> Side:
    """Return the side of a recipe file, or of the scripts of one run.

    Raises:
        DiagnosticError: The file cannot be read or is no valid recipe; CC917 if there is not
            exactly one run, CC020 if its recipe is not complete.
    """
    if path == STDIN:
        return side_of_recipe(load_placed(path))
    sources, problems = read_sources([path])
    if not sources:
        raise DiagnosticError(*problems)
    if len(sources) == 1 and is_recipe(sources[0]):
        return side_of_recipe(load_placed(path))
    return side_of_lifted(lifted_at(path, sources, versions), targets)


def side_of_recipe(loaded: Loaded) -> Side:
    """Return the side of a recipe file."""
    return Side(
        name=loaded.document.file,
        recipe=loaded.recipe,
        origins=_written(loaded.document),
        notes=tuple(loaded.notices()),
    )


def _written(document: YamlDocument) -> dict[str, Origin]:
    """Return the origin of the fields that a recipe file has."""
    parents = {path[:n] for path in document.keys for n in range(len(path))}
    leaves = [path for path in document.keys if path not in parents]
    origins = {".".join(map(str, path)): Origin("written") for path in leaves}
    return origins | {mark.dotted: Origin("assumed", FILL_IN) for mark in document.marks}


def side_of_lifted(lifted: Lifted, targets: Sequence[str]) -> Side:
    """Return the side of a recipe that was read from scripts.

    Raises:
        DiagnosticError: CC020 if the recipe is not complete.
    """
    if lifted.recipe is None:
        message = f"{lifted.analysis.name}: no complete recipe can be read from this"
        hint = "see what `crosscast lift` says of it"
        raise DiagnosticError(
            *lifted.diagnostics, Diagnostic(code="CC020", message=message, hint=hint)
        )
    sources = lifted.analysis.subject.sources
    side = read_side(lifted, lifted.fields, _for_targets(lifted.recipe, targets), sources)
    notes = (d for d in lifted.diagnostics if d.severity != Severity.ERROR or unread_parts([d]))
    return replace(side, notes=tuple(notes))


def read_side(
    lifted: Lifted, fields: Mapping[str, Filled], recipe: Recipe, sources: Sequence[Source]
) -> Side:
    """Return the side of a recipe with the places of its fields in scripts.

    Args:
        lifted: What was read.
        fields: How the fields came by their values, after what was changed since.
        recipe: The recipe with these fields.
        sources: The scripts.
    """
    origins = {path: Origin(f.how, f.note, f.places) for path, f in fields.items()}
    for path, derived in _DERIVED.items():
        if path in origins:
            origins.setdefault(derived, replace(origins[path], how="derived"))
    events: dict[str, list[tuple[str, int]]] = {}
    steps = lifted.analysis.subject.steps
    for operation, _, file, line in operation_places(steps, canonical_plan(recipe)):
        events.setdefault(operation, []).append((file, line))
    named = {place.file for origin in origins.values() for place in origin.places}
    named |= {file for places in events.values() for file, _ in places}
    return Side(
        name=lifted.analysis.name,
        recipe=recipe,
        origins=origins,
        sources=tuple(source for source in sources if source.name in named),
        events={operation: tuple(places) for operation, places in events.items() if operation},
    )


def _for_targets(recipe: Recipe, targets: Sequence[str]) -> Recipe:
    """Return a recipe whose own functions are named for every target, if only by a stand-in."""
    names = [find_target(target).backend.name for target in targets]
    changes = {}
    for section, name in (("model", "factory"), ("loss", "function")):
        functions = getattr(getattr(recipe, section), name, None)
        if functions is not None:
            changes[f"{section}.{name}"] = {**dict.fromkeys(names, FACTORY), **functions}
    result = built(changed(recipe.model_dump(), changes)) if changes else None
    return result[0] if result is not None else recipe
