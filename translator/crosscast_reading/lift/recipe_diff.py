"""The two sides of `crosscast diff`: recipes in any source form, field by field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, Span
from crosscast.messages.source import Source
from crosscast.recipe.fill_in import Mark
from crosscast_reading.lift.analysis import analyse
from crosscast_reading.lift.batch import groups_of, read_sources
from crosscast_reading.lift.drafting import Lifted, lift
from crosscast_reading.lift.effective_fields import meaning
from crosscast_reading.lift.flat_recipe import flat_meaning, plain
from crosscast_reading.lift.recipe_draft import Filled

State = Literal["different", "unknown"]
_NAMES = ("version", "name")
"""Fields that say nothing about the training."""
_OF_BACKEND = ("model.factory.", "loss.function.", "metrics.custom.", "overrides.")
_DERIVED = ("schedule.warmup_ratio", "model.preset", "precision.policy")
_UNSEEN = ("seed", "accumulation.tail")
"""Fields whose default in a recipe says nothing about a source that does not speak of them."""
_TAGS = ("mode", "kind", "name", "source")
"""Fields that decide what the others of their section mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One recipe, with the place of every field that has one."""

    path: str
    values: Mapping[str, Any]
    places: Mapping[str, tuple[Span, ...]]
    unknown: frozenset[str]
    """Fields that no source speaks of and that a stand-in fills."""
    filled: frozenset[str] | None = None
    """Fields of sources that are more than the defaults of a recipe; None of a recipe, which says
    all of them."""
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A field that is not the same on both sides."""

    path: str
    state: State
    """`unknown`: at least one side does not say it."""
    left: Any
    right: Any
    left_places: tuple[Span, ...] = ()
    right_places: tuple[Span, ...] = ()


def side_of(path: str, versions: Mapping[str, str]) -> Side:
    """Read one side.

    Raises:
        DiagnosticError: CC0xx if it cannot be read, CC917 if there is not exactly one recipe.
    """
    sources, problems = read_sources([path])
    if not sources:
        raise DiagnosticError(*problems)
    if len(sources) == 1 and is_recipe(sources[0]):
        return _recipe_file(sources[0])
    return side_of_lifted(path, lifted_at(path, sources, versions))


def lifted_at(path: str, sources: Sequence[Source], versions: Mapping[str, str]) -> Lifted:
    """Return the reading of the one run at a path.

    Args:
        path: as the user named it.
        sources: what was found there.
        versions: package to version, instead of what the sources say.

    Raises:
        DiagnosticError: CC917 if there is not exactly one run.
    """
    candidates = [lift(analyse(group, versions)) for group in groups_of(sources, [path])]
    lifted = [
        candidate for candidate in candidates if candidate.fields or candidate.recipe is not None
    ]
    named = [
        candidate
        for candidate in lifted
        if any(s.name == path for s in candidate.analysis.subject.sources)
    ]
    lifted = named or lifted
    if len(lifted) != 1:
        message = f"{path} holds {len(lifted) or 'no'} runs that could be compared"
        hint = "name the files of one run" if lifted else "see what `crosscast lift` says of it"
        diagnostics = [d for candidate in candidates for d in candidate.diagnostics]
        raise DiagnosticError(*diagnostics, Diagnostic(code="CC917", message=message, hint=hint))
    return lifted[0]


def is_recipe(source: Source) -> bool:
    """Whether a file is a recipe, valid or not."""
    from crosscast_reading.readers.recipe_yaml import READER

    return source.name.endswith((".yaml", ".yml")) and READER.sniff(source)


def _recipe_file(source: Source) -> Side:
    from crosscast.recipe.validate import build_recipe
    from crosscast.recipe.yaml_source import parse

    document = parse(source.text, source.name)
    values = flat_meaning(build_recipe(document))
    places = {".".join(map(str, path)): (span,) for path, span in document.values.items()}
    unknown = _with_derived(path for path in values if _is_marked(path, document.marks))
    return Side(path=source.name, values=values, places=places, unknown=unknown)


def _is_marked(path: str, marks: Sequence[Mark]) -> bool:
    """Whether a field, its section or a part of it is still to be filled in."""
    return any(
        f"{path}.".startswith(f"{mark.dotted}.") or mark.dotted.startswith(f"{path}.")
        for mark in marks
    )


def side_of_lifted(path: str, lifted: Lifted) -> Side:
    """Return the side that the sources of one run are."""
    if lifted.recipe is not None:
        values = flat_meaning(lifted.recipe)
    else:
        values = {name: plain(filled.value) for name, filled in lifted.fields.items()}
    return Side(
        path=path,
        values=values,
        places={name: filled.places for name, filled in lifted.fields.items()},
        unknown=_with_derived([*lifted.unsaid, *_by_default(lifted.fields)]),
        filled=frozenset(lifted.fields),
        diagnostics=lifted.diagnostics,
    )


def _by_default(fields: Mapping[str, Filled]) -> list[str]:
    """Return fields whose default says nothing about a source that does not speak of them."""
    return [path for path in _UNSEEN if path in fields and fields[path].how == "default"]


def _with_derived(unknown: Iterable[str]) -> frozenset[str]:
    """Return unknown fields and those that are derived from them."""
    paths = frozenset(unknown)
    if paths & {"batch.micro_batch_size", "accumulation.steps"}:
        paths |= {"batch.global_batch_size"}
    return paths


def _silent(side: Side, path: str) -> bool:
    """Whether a side has no fact about a field, whatever the value in its recipe."""
    if path in side.unknown:
        return True
    if side.filled is None or path in side.filled:
        return False
    section = path.partition(".")[0]
    return path in _UNSEEN or any(f"{section}.{tag}" in side.unknown for tag in _TAGS)


def differences(left: Side, right: Side) -> Iterator[Difference]:
    """Yield the fields in which two sides differ, in the order of the recipe.

    A field without an effect on one side is none of them, nor is another word for the same.
    """
    ours, theirs = meaning(left.values), meaning(right.values)
    for path in dict.fromkeys((*left.values, *right.values)):
        if path in _NAMES or path in _DERIVED:
            continue
        first, second = left.values.get(path), right.values.get(path)
        unknown = path in left.unknown or path in right.unknown
        # A script knows only its own framework's functions and settings.
        unknown = unknown or (path.startswith(_OF_BACKEND) and None in (first, second))
        idle = (
            path in left.values.keys() - ours.keys() or path in right.values.keys() - theirs.keys()
        )
        if not unknown and (first == second or idle or ours.get(path) == theirs.get(path)):
            continue
        silent = _silent(left, path), _silent(right, path)
        yield Difference(
            path=path,
            state="unknown" if unknown or any(silent) else "different",
            left=None if silent[0] else first,
            right=None if silent[1] else second,
            left_places=tuple(left.places.get(path, ())),
            right_places=tuple(right.places.get(path, ())),
        )
