"""The result of a sweep: cells, means over seeds, and comparisons of targets."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from crosscast.recipe.document import BertModel
from crosscast_parity.checks.check import Check
from crosscast_parity.levels.seeds import SeedResult, judge_seeds, margins_of
from crosscast_parity.sweep.grid import Settings, in_words
from crosscast_parity.sweep.prepare import Cell
from crosscast_parity.sweep.spec import CellResult, write_json

FORMAT = 1
VALUES = ("train_loss_tail", "eval_loss", "eval_accuracy")
COLUMNS = ("recipe", "settings", "target", "seeds", "train loss", "eval loss", "accuracy", "s")
Group = tuple[str, Settings, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One target against another over the seeds that both finished."""

    recipe: str
    settings: Settings
    target: str
    reference: str
    checks: tuple[Check, ...]

    def __str__(self) -> str:
        name = " ".join([self.recipe, *in_words(self.settings)])
        lines = [f"{name}: {self.target} against {self.reference}: {self.verdict}"]
        lines += [f"  {check.name} {check.wording}" for check in self.checks]
        return "\n".join(lines)

    @property
    def verdict(self) -> str:
        """The word for all checks together."""
        results = {check.result for check in self.checks}
        if "fail" in results:
            return "different"
        return "equivalent" if results == {"pass"} else "inconclusive"


@dataclass(frozen=True, slots=True)
class SweepTable:
    """The cells of a sweep with their results, in the order of the grid."""

    rows: tuple[tuple[Cell, CellResult], ...]

    @classmethod
    def of(cls, cells: Sequence[Cell], results: Mapping[Path, CellResult]) -> SweepTable:
        """Join cells and results; a cell without one was not run."""
        missing = CellResult(kind="interrupted", message="not run", attempts=0)
        return cls(tuple((cell, results.get(cell.folder, missing)) for cell in cells))

    def groups(self) -> dict[Group, list[tuple[Cell, CellResult]]]:
        """Return the cells that differ in nothing but the seed."""
        groups: dict[Group, list[tuple[Cell, CellResult]]] = {}
        for cell, result in self.rows:
            point = cell.point
            groups.setdefault((*point.group, point.target), []).append((cell, result))
        return groups

    def lines(self) -> list[list[str]]:
        """Return the cells of the table of means, below `COLUMNS`."""
        return [
            [
                name,
                " ".join(in_words(settings)) or "-",
                target,
                _share([result for _, result in rows]),
                *(_mean([getattr(result, value) for _, result in rows]) for value in VALUES),
                _mean([result.seconds for _, result in rows if result.complete], digits=1),
            ]
            for (name, settings, target), rows in self.groups().items()
        ]

    def comparisons(self) -> list[Comparison]:
        """Compare every target with the first one, recipe by recipe, if there are several seeds."""
        groups = self.groups()
        first: dict[tuple[str, Settings], str] = {}
        comparisons = []
        for (name, settings, target), rows in groups.items():
            reference = first.setdefault((name, settings), target)
            if target == reference or len(rows) < 2:
                continue
            recipe = rows[0][0].point.recipe
            model, theirs = recipe.model, _seeds(groups[name, settings, reference])
            checks = judge_seeds(
                _seeds(rows),
                theirs,
                margins_of(recipe.loss, theirs),
                plateau=math.log(model.labels) if isinstance(model, BertModel) else None,
                eval_rows=rows[0][0].eval_rows,
            )
            comparisons.append(
                Comparison(
                    recipe=name,
                    settings=settings,
                    target=target,
                    reference=reference,
                    checks=checks,
                )
            )
        return comparisons

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "format": FORMAT,
            "cells": [{**_point(cell), **asdict(result)} for cell, result in self.rows],
            "comparisons": [
                {
                    "recipe": comparison.recipe,
                    "settings": dict(comparison.settings),
                    "target": comparison.target,
                    "reference": comparison.reference,
                    "verdict": comparison.verdict,
                    "checks": [check.to_json() for check in comparison.checks],
                }
                for comparison in self.comparisons()
            ],
        }

    def to_csv(self) -> str:
        """Return one line a cell, with a column for every field that is set."""
        paths = sorted({path for cell, _ in self.rows for path, _ in cell.point.settings})
        fields = [name for name in asdict(CellResult(kind="finished")) if name != "versions"]
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["recipe", "target", "seed", *paths, *fields, "folder"])
        for cell, result in self.rows:
            point, settings = cell.point, dict(cell.point.settings)
            values = asdict(result)
            writer.writerow(
                [
                    point.name,
                    point.target,
                    point.seed,
                    *(settings.get(path, "") for path in paths),
                    *(values[name] for name in fields),
                    cell.folder.name,
                ]
            )
        return stream.getvalue()

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write sweep.json and sweep.csv; return their paths."""
        paths = folder / "sweep.json", folder / "sweep.csv"
        write_json(paths[0], self.to_json())
        partial = paths[1].with_suffix(".partial")
        partial.write_text(self.to_csv(), encoding="utf-8")
        partial.replace(paths[1])
        return paths


def _point(cell: Cell) -> dict[str, Any]:
    point = cell.point
    return {
        "recipe": point.name,
        "target": point.target,
        "seed": point.seed,
        "settings": dict(point.settings),
        "folder": cell.folder.name,
    }


def _seeds(rows: Sequence[tuple[Cell, CellResult]]) -> list[SeedResult]:
    """Return the results of scripts that ended by themselves, without killed cells."""
    return [
        SeedResult(
            seed=cell.point.seed,
            train_loss_tail=result.train_loss_tail,
            eval_loss=result.eval_loss,
            eval_accuracy=result.eval_accuracy,
        )
        for cell, result in rows
        if result.complete
    ]


def _share(results: Sequence[CellResult]) -> str:
    finished = sum(result.kind == "finished" for result in results)
    return str(finished) if finished == len(results) else f"{finished} of {len(results)}"


def _mean(values: Sequence[float | None], digits: int = 4) -> str:
    """Return mean and standard deviation over the seeds that have a value."""
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    spread = f" ± {stdev(known):.{digits}f}" if len(known) > 1 else ""
    return f"{fmean(known):.{digits}f}{spread}"
