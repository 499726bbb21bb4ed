"""Outcomes as tables and as JSON (docs/reference/planning.md describes both)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from crosscast.fit.candidates import Candidate, changes
from crosscast.fit.devices import ASSUMED
from crosscast.fit.memory_sizes import show_bytes
from crosscast.fit.solver import Outcome, Variant
from crosscast.memory.records import COMPONENTS, Estimate
from crosscast.messages.diagnostics import Diagnostic, Severity
from crosscast.messages.screens import Part, Table
from crosscast.recipe.document import BertModel, Recipe

ANSWERS = ("answer", "micro", "steps", "ckpt", "precision", "peak", "total", "simple")
SHOWN = 5
"""Maximum number of answers with components: as many as fit into 80 characters."""


def precision_name(candidate: Candidate) -> str:
    """Return the precision in short: `float32`, `bfloat16`, `full float16`."""
    full = "full " if candidate.mode == "full" else ""
    return f"{full}{candidate.compute_dtype}"


def named(outcome: Outcome) -> dict[str, Variant]:
    """Return the unchanged recipe and the answers by their names in tables."""
    return {"now": outcome.now} | {str(n): answer for n, answer in enumerate(outcome.answers, 1)}


def answer_rows(outcome: Outcome) -> list[list[str]]:
    """Return the cells of the table of answers."""
    return [
        [
            name,
            str(way.candidate.micro_batch_size),
            str(way.candidate.steps),
            "yes" if way.candidate.checkpointing else "no",
            precision_name(way.candidate),
            show_bytes(way.estimate.peak_bytes),
            show_bytes(way.estimate.total),
            _simple(way.estimate),
        ]
        for name, way in named(outcome).items()
    ]


def _simple(estimate: Estimate) -> str:
    size = estimate.simple_formula_bytes
    return "unknown" if size is None else show_bytes(size)


def component_table(outcome: Outcome) -> tuple[list[str], list[list[str]]]:
    """Return header and cells of the table of components at the peak."""
    shown = dict(list(named(outcome).items())[: SHOWN + 1])
    sizes = {name: component_sizes(way.estimate) for name, way in shown.items()}
    rows = [
        [part, *(show_bytes(size[part]) if part in size else "" for size in sizes.values())]
        for part in COMPONENTS
        if any(part in size for size in sizes.values())
    ]
    rows.append(["margin", *(show_bytes(way.estimate.margin_bytes) for way in shown.values())])
    rows.append(["peak in", *(way.estimate.peak_phase for way in shown.values())])
    return ["component", *shown], rows


def fits_words(outcomes: Sequence[Outcome]) -> str:
    """Say on which targets the unchanged recipe fits, and what it needs; empty without any."""
    if not outcomes:
        return ""
    needs: dict[bool, list[str]] = {False: [], True: []}
    for outcome in outcomes:
        needed = outcome.now.estimate.total
        needs[needed <= outcome.limit].append(f"{outcome.target} ({show_bytes(needed)})")
    parts = [f"does not fit on {', '.join(needs[False])}"] if needs[False] else []
    parts += [f"fits on {', '.join(needs[True])}"] if needs[True] else []
    return f"the unchanged recipe {'; it '.join(parts)}"


def fit_words(outcome: Outcome) -> str:
    """Say whether the unchanged recipe fits."""
    needs, limit = show_bytes(outcome.now.estimate.total), show_bytes(outcome.limit)
    fits = "fits" if outcome.now.estimate.total <= outcome.limit else "does not fit"
    return f"{outcome.target}: the unchanged recipe needs {needs} and {fits} into {limit}"


def outcome_parts(outcomes: Sequence[Outcome], device: str, *, all: bool) -> Iterator[Part]:
    """Yield the tables of a plan.

    Args:
        outcomes: what was found for every target.
        device: name of the GPU; empty if none was given.
        all: also the memory of every component.
    """
    rates = device or f"{ASSUMED}, since no --device is given"
    for outcome in outcomes:
        evidence = outcome.now.estimate.evidence
        order = f"answers are ordered by the peak rates of {rates}"
        words = f"(memory {evidence}; times are not estimated:\n{order})"
        title = f"{fit_words(outcome)}\n{words}"
        yield Table(ANSWERS, answer_rows(outcome), title=title)
        if all:
            yield Table(*component_table(outcome))
    if outcomes and not all:
        yield "--all shows the memory of every component."


def component_sizes(estimate: Estimate) -> dict[str, int]:
    """Return bytes by component."""
    return {component.name: component.bytes for component in estimate.components}


def remarks(recipe: Recipe, outcomes: Sequence[Outcome]) -> list[Diagnostic]:
    """Return remarks about the answers, without duplicates."""
    diagnostics = [
        replace(d, severity=Severity.NOTE) for outcome in outcomes for d in outcome.refused
    ]
    new = [answer.candidate for outcome in outcomes for answer in outcome.answers]
    split = [
        candidate
        for candidate in new
        if candidate.micro_batch_size != recipe.batch.micro_batch_size
    ]
    if any(candidate.meaning == "as_sample" for candidate in split):
        diagnostics.append(
            Diagnostic(
                code="CC465",
                severity=Severity.NOTE,
                path="accumulation.normalize_by",
                message=(
                    "answers use sample if they would split the short window of an epoch "
                    "unevenly; all its micro-batches have the same size in the recipe, so "
                    "both means are equal"
                ),
            )
        )
    if any(candidate.meaning == "differs" for candidate in split):
        diagnostics.append(
            Diagnostic(
                code="CC466",
                severity=Severity.WARNING,
                path="accumulation.normalize_by",
                message=(
                    "with normalize_by: microbatch, the weight of a row in the short window "
                    "of an epoch depends on micro_batch_size, so these answers train "
                    "differently"
                ),
                hint="use normalize_by: sample, or tail: drop or carry, which do not depend on "
                "the split",
            )
        )
    if split and (random := _random(recipe)):
        diagnostics.append(
            Diagnostic(code="CC467", severity=Severity.NOTE, path=random[0], message=random[1])
        )
    for outcome in outcomes:
        ways = (outcome.now, *outcome.answers)
        if any(way.estimate.bound for way in ways):
            diagnostics.append(
                Diagnostic(
                    code="CC453",
                    severity=Severity.NOTE,
                    path="precision.compute_dtype",
                    message=(
                        f"{outcome.target}: memory in half precision is an upper bound: the short "
                        "runs computed in float32"
                    ),
                )
            )
        if outcome.now.estimate.evidence == "planned":
            diagnostics.append(
                Diagnostic(
                    code="CC454",
                    severity=Severity.WARNING,
                    message=(
                        f"{outcome.target}: memory is what its compiler plans for a CPU; on a GPU "
                        "it usually keeps less, above all with checkpointing or in half precision, "
                        "so more may fit than is said here"
                    ),
                    hint="compare with the peak_memory that a short run on the GPU writes into its "
                    "trace: plan --measured",
                )
            )
    if any(candidate.compute_dtype != recipe.precision.compute_dtype for candidate in new):
        diagnostics.append(
            Diagnostic(
                code="CC469",
                severity=Severity.WARNING,
                path="precision.compute_dtype",
                message=(
                    "answers with another precision change the numerical results; check them "
                    "with `crosscast parity`"
                ),
            )
        )
    return diagnostics


def _random(recipe: Recipe) -> tuple[str, str] | None:
    """Return field and description of random effects of another split."""
    if not isinstance(recipe.model, BertModel):
        return "model", (
            "layers that depend on the whole micro-batch, such as batch normalization, see "
            "different micro-batches with another micro_batch_size"
        )
    if recipe.model.dropout:
        return "model.dropout", (
            "another micro_batch_size draws different dropout masks from the same distribution"
        )
    return None


def to_json(
    recipe: Recipe, outcomes: Sequence[Outcome], files: Mapping[str, Sequence[str]]
) -> list[dict[str, Any]]:
    """Return the outcomes as plain data; `files`: names of the written recipes by target."""
    return [
        {
            "target": outcome.target,
            "limit_bytes": outcome.limit,
            "fits": bool(outcome.answers),
            "tried": outcome.tried,
            "now": _way(recipe, outcome, outcome.now),
            "answers": [
                {"rank": number, **_way(recipe, outcome, way), "file": file}
                for number, (way, file) in enumerate(
                    zip(
                        outcome.answers,
                        files.get(outcome.target, [None] * len(outcome.answers)),
                        strict=True,
                    ),
                    1,
                )
            ],
            "refused": [diagnostic.to_json() for diagnostic in outcome.refused],
        }
        for outcome in outcomes
    ]


def _way(recipe: Recipe, outcome: Outcome, variant: Variant) -> dict[str, Any]:
    return {
        "changes": changes(recipe, variant.candidate),
        "micro_batch_size": variant.candidate.micro_batch_size,
        "steps": variant.candidate.steps,
        "processes": recipe.processes,
        "activation_checkpointing": variant.candidate.checkpointing,
        "precision": {
            "mode": variant.candidate.mode,
            "compute_dtype": variant.candidate.compute_dtype,
        },
        "meaning": variant.candidate.meaning,
        "fits": variant.estimate.total <= outcome.limit,
        **estimate_json(variant.estimate),
    }


def estimate_json(estimate: Estimate) -> dict[str, Any]:
    """Return an estimate as plain data."""
    return {
        "evidence": estimate.evidence,
        "upper_bound": estimate.bound,
        "peak_bytes": estimate.peak_bytes,
        "margin_bytes": estimate.margin_bytes,
        "total_bytes": estimate.total,
        "peak_phase": estimate.peak_phase,
        "simple_formula_bytes": estimate.simple_formula_bytes,
        "components": [
            {
                "name": component.name,
                "bytes": component.bytes,
                "dtype": component.dtype,
                "note": component.note,
            }
            for component in estimate.components
        ],
    }
