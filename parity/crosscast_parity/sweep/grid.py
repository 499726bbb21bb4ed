"""The grid of a sweep: recipe files, targets, seeds and settings."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.messages.source import read_source
from crosscast.recipe.document import Recipe
from crosscast.recipe.validate import build_recipe
from crosscast.recipe.yaml_source import MAX_BYTES, YamlDocument, parse

MAX_CELLS = 10_000
_SEEDS = re.compile(r"([0-9]{1,10})(?:-([0-9]{1,10}))?", re.ASCII)
_PATH = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*", re.ASCII)

Settings = tuple[tuple[str, Any], ...]
"""Dotted path and value of every field that a grid point sets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One training of the grid.

    `base`: the recipe of the file with the settings but its own seed: the task is drawn from that,
    so it is the same for all seeds. `recipe`: the same with the seed of this point. `folder`: of
    the file.
    """

    name: str
    target: str
    seed: int
    settings: Settings
    base: Recipe
    recipe: Recipe
    folder: Path

    @property
    def group(self) -> tuple[str, Settings]:
        """What it shares with the points that differ in target and seed."""
        return (self.name, self.settings)

    def __str__(self) -> str:
        return " ".join([self.name, *in_words(self.settings), self.target, f"seed {self.seed}"])


def in_words(settings: Settings) -> list[str]:
    """Return the settings as people wrote them."""
    return [f"{path}={value}" for path, value in settings]


def parse_seeds(texts: Iterable[str]) -> tuple[int, ...]:
    """Read seeds: numbers and ranges, as in `0-4` or `1,2,7-9`; both ends count.

    Raises:
        DiagnosticError: CC728 for another form, a seed given twice, or too many.
    """
    seeds: list[int] = []
    for part in (part.strip() for text in texts for part in text.split(",")):
        match = _SEEDS.fullmatch(part)
        if match is None:
            raise refuse(f"{part!r} is not a seed or a range of seeds", "for example --seeds 0-4")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first or last - first >= MAX_CELLS:
            raise refuse(f"{part!r} is not a range of 1 to {MAX_CELLS} seeds")
        seeds += range(first, last + 1)
    if len(set(seeds)) != len(seeds):
        raise refuse("--seeds names a seed twice")
    return tuple(seeds)


def parse_settings(texts: Iterable[str]) -> dict[str, list[Any]]:
    """Read `PATH=VALUE` texts; a path given several times is an axis of the grid.

    Values are read as YAML, as in a recipe.

    Raises:
        DiagnosticError: CC728 for another form or a value given twice.
    """
    axes: dict[str, list[Any]] = {}
    for text in texts:
        path, equals, value = text.partition("=")
        if not equals or not _PATH.fullmatch(path):
            hint = "for example --set optimizer.learning_rate=1e-4"
            raise refuse(f"{text!r} is not PATH=VALUE", hint)
        if path == "seed":
            raise refuse("seeds are set by --seeds")
        read = parse(value, f"--set {path}").data
        if read in axes.setdefault(path, []):
            raise refuse(f"--set gives {path} the value {value} twice")
        axes[path].append(read)
    return axes


def make_grid(
    files: Sequence[str],
    targets: Sequence[str],
    seeds: Sequence[int] = (),
    axes: Mapping[str, Sequence[Any]] | None = None,
) -> list[Point]:
    """Return every point of recipes x settings x seeds x targets; seeds outside, targets inside.

    So that an interrupted sweep has whole pairs. Without seeds every recipe has its own.

    Raises:
        DiagnosticError: for a recipe that cannot be read or is wrong with a setting; CC728 for two
            recipes of one name or a grid that is too large.
    """
    documents = [_read(path) for path in files]
    combinations = _combinations(axes or {})
    size = len(documents) * len(combinations) * max(1, len(seeds)) * len(targets)
    if size > MAX_CELLS:
        raise refuse(f"the grid has {size} cells, more than {MAX_CELLS}")
    bases = [
        (document, settings, build_recipe(_with(document, settings)))
        for document in documents
        for settings in combinations
    ]
    names = [base.name for _, settings, base in bases if settings == combinations[0]]
    if len(set(names)) != len(names):
        raise refuse("two of the recipes have the same name", "change `name:` in one of them")
    return list(_points(bases, targets, seeds))


def _points(
    bases: Sequence[tuple[YamlDocument, Settings, Recipe]],
    targets: Sequence[str],
    seeds: Sequence[int],
) -> Iterator[Point]:
    for number in range(max(1, len(seeds))):
        for document, settings, base in bases:
            seed = seeds[number] if seeds else base.seed
            recipe = build_recipe(_with(document, (*settings, ("seed", seed))))
            for target in targets:
                yield Point(
                    name=base.name,
                    target=target,
                    seed=seed,
                    settings=settings,
                    base=base,
                    recipe=recipe,
                    folder=Path(document.file).absolute().parent,  # of stdin the current one
                )


def _combinations(axes: Mapping[str, Sequence[Any]]) -> list[Settings]:
    chosen = itertools.product(*axes.values())
    return [tuple(zip(axes, values, strict=True)) for values in chosen]


def _read(path: str) -> YamlDocument:
    source = read_source(path, max_bytes=MAX_BYTES)
    return parse(source.text, source.name)


def _with(document: YamlDocument, settings: Settings) -> YamlDocument:
    """Return a document with values replaced, as if written in the file."""
    data = document.data
    for path, value in settings:
        data = _set(data, path.split("."), value, path)
    return replace(document, data=data)


def _set(data: Any, keys: Sequence[str], value: Any, path: str) -> Any:
    if not keys:
        return value
    if data is None:
        data = {}
    if not isinstance(data, Mapping):
        raise refuse(f"--set {path}: {keys[0]!r} is not below a section")
    return {**data, keys[0]: _set(data.get(keys[0]), keys[1:], value, path)}


def refuse(message: str, hint: str = "") -> DiagnosticError:
    """Return the error for an option that makes no sense."""
    return DiagnosticError(Diagnostic(code="CC728", message=message, hint=hint))
