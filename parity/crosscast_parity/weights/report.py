"""What `crosscast weights` says: a table, JSON, and diagnostics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from crosscast.messages.diagnostics import Diagnostic, Severity
from crosscast.weights.document import WeightsMap
from crosscast_parity.weights.assembly import unmatched
from crosscast_parity.weights.model import Part
from crosscast_parity.weights.proof import GRADIENTS, OUTPUTS, Proof
from crosscast_parity.weights.search import Found

MOST = 8


def heading(known: WeightsMap, proof: Proof) -> tuple[str, ...]:
    """Return the comments at the top of the file."""
    return (
        "Which tensor of one framework is which of the others, in order of execution.",
        "A name alone: the tensor has the canonical layout, which is PyTorch's. Otherwise `axes`,",
        "`part`, `gates`, … lead from the framework's tensor to it (docs/reference/weights.md).",
        *(
            f"{known.frameworks[0]} and {name}: outputs differ by {far:.1e} of their size (float32)"
            for name, far in proof.outputs.items()
        ),
    )


def problems(
    known: WeightsMap,
    proof: Proof,
    left: Mapping[str, Sequence[Part]] = MappingProxyType({}),
    corrections: Sequence[Diagnostic] = (),
) -> list[Diagnostic]:
    """Return the reasons why models are not the same function.

    A wrong tensor changes the gradients of all, so these are listed only without corrections.
    """
    diagnostics = list(corrections)
    for framework, parts in left.items():
        if parts:
            names = ", ".join(part.text for part in parts[:MOST])
            more = f" and {len(parts) - MOST} more" if len(parts) > MOST else ""
            message = f"{framework}: without counterpart: {names}{more}"
            diagnostics.append(Diagnostic(code="CC764", message=message))
    first = known.frameworks[0]
    for name, far in proof.outputs.items():
        if name and not far <= OUTPUTS:
            other = far == float("inf")
            size = "have other shapes or are not finite" if other else f"differ by {far:.1e}"
            message = f"{first} and {name}: with the same weights outputs {size}"
            diagnostics.append(Diagnostic(code="CC765", message=message))
    wrong = [e for e in known.entries if proof.gradients.get(e.name, 0.0) > GRADIENTS]
    if corrections:
        wrong = []
    for entry in wrong[:MOST]:
        where = ", ".join(f"{f}: {place.name}" for f, place in entry.places.items())
        far = proof.gradients[entry.name]
        message = f"{entry.name} ({where}): gradients differ by {far:.1%}"
        diagnostics.append(Diagnostic(code="CC765", message=message))
    if len(wrong) > MOST:
        message = f"{len(wrong) - MOST} more tensors whose gradients differ"
        diagnostics.append(Diagnostic(code="CC765", message=message))
    silent = [entry.name for entry in known.entries if entry.name in proof.silent]
    if silent:
        names = ", ".join(silent[:MOST]) + (", …" if len(silent) > MOST else "")
        message = f"no influence on the outputs was seen: {names}"
        diagnostics.append(Diagnostic(code="CC765", message=message, severity=Severity.NOTE))
    return diagnostics


def found_problems(result: Found) -> list[Diagnostic]:
    """Return the reasons why the models of a search are not the same function."""
    return problems(result.known, result.proof, unmatched(result.known, result.models))


def table(result: Found) -> list[tuple[str, ...]]:
    """Return the rows (framework, tensors, matched, how) of the report."""
    rows: list[tuple[str, ...]] = []
    for model in result.models:
        name = model.framework
        tensors = len({part.tensor for part in model.parts})
        matched = len(result.known.of(name))
        reasons = Counter(
            result.reasons(entry)[name]
            for entry in result.known.entries
            if name in result.reasons(entry)
        )
        by = ", ".join(f"{count} by {reason}" for reason, count in reasons.most_common())
        rows.append((name, str(tensors), str(matched), by))
    return rows


def summary(known: WeightsMap, proof: Proof) -> list[str]:
    """Return a summary of the proof, as lines."""
    proved = sum(entry.proved for entry in known.entries)
    lines = [f"proved: {proved} of {len(known.entries)} canonical tensors"]
    far = max(proof.gradients.values(), default=0.0)
    for name, outputs in proof.outputs.items():
        if name:
            lines.append(f"{known.frameworks[0]} and {name}: outputs differ by {outputs:.1e}")
    lines.append(f"gradients differ by at most {far:.1e}")
    return lines


def as_json(
    known: WeightsMap, proof: Proof, diagnostics: list[Diagnostic], result: Found | None = None
) -> dict[str, Any]:
    """Return the report as plain data."""
    return {
        "version": 1,
        "frameworks": list(known.frameworks),
        "outputs": {n: v if v < float("inf") else None for n, v in proof.outputs.items() if n},
        "tensors": [
            {
                "name": entry.name,
                "shape": list(entry.shape),
                "places": {f: place.name for f, place in entry.places.items()},
                "proved": entry.proved,
                "gradients": proof.gradients.get(entry.name),
                "reasons": result.reasons(entry) if result else {},
                "notes": list(entry.notes),
            }
            for entry in known.entries
        ],
        "left": {name: list(names) for name, names in known.left.items()},
        "diagnostics": [diagnostic.to_json() for diagnostic in diagnostics],
    }
