"""CL408: attention that keeps its scores."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_reading.lint.answers.mixed_precision import kept_by
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.tensors.tensor import Place


def check(subject: Subject) -> Iterator[Finding]:
    """Find attention by hand whose weights nothing else uses, where a fused one exists."""
    for table, findings in kept_by(subject.program).findings:
        if not table.fused_attention:
            continue
        groups: dict[Place, list[Place]] = {}
        for place, product in findings.attentions.items():
            groups.setdefault(product, []).append(place)
        for product, places in groups.items():
            if findings.given_away.isdisjoint(places) and not _has_fused(
                product, table.fused_words
            ):
                yield _finding(product, places, table.fused_attention)


def _finding(product: Place, places: list[Place], fused: str) -> Finding:
    first = places[0]
    return Finding(
        span=first.module.span(first.node),
        message=f"{first.text} keeps the weights of attention for the backward pass in float32, "
        f"and {product.text} a half copy: 6 bytes for each of rows x heads x tokens x tokens",
        hint=f"use `{fused}`, which keeps none of them",
        related=tuple(place.module.span(place.node) for place in (product, *places[1:])),
    )


def _has_fused(place: Place, words: tuple[str, ...]) -> bool:
    """Whether the class, or the file of a plain function, has fused attention as well."""
    module = place.module
    around: ast.AST | None = module.class_of(place.node)
    text = module.text(around) if around is not None else module.code
    return any(word in text for word in words)


RULE = Rule("CL408", check, hints=("autocast", "auto_cast", "amp_guard"))
