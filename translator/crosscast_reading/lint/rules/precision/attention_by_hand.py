"""CL408: attention that keeps its scores."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.answers.mixed_precision import kept_by
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules._examples import changed
from crosscast_reading.lint.rules.precision._kept import MODEL
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.tensors.tensor import Place


def check(subject: Subject) -> Iterator[Finding]:
    """Find attention by hand whose weights nothing else uses, where a fused one exists."""
    for table, findings in kept_by(subject.program).findings:
        for place, product in findings.attentions.items() if table.fused_attention else ():
            if place in findings.given_away or _has_fused(place, table.fused_words):
                continue
            yield Finding(
                span=place.module.span(place.node),
                message=f"{place.text} keeps the weights of attention for the backward pass in "
                f"float32, and {product.text} a half copy: 6 bytes for each of rows x heads x "
                "tokens x tokens",
                hint=f"use `{table.fused_attention}`, which keeps none of them",
                related=(product.module.span(product.node),),
            )


def _has_fused(place: Place, words: tuple[str, ...]) -> bool:
    """Whether the class, or the file of a plain function, has fused attention as well."""
    module = place.module
    around: ast.AST | None = module.class_of(place.node)
    text = module.text(around) if around is not None else module.code
    return any(word in text for word in words)


RULE = Rule(
    code="CL408",
    name="attention-by-hand",
    topic="precision",
    severity=Severity.NOTE,
    title="Attention that keeps its scores",
    why="In mixed precision, softmax returns float32, which it keeps for the backward pass, and "
    "the product with the values keeps a half copy: 6 bytes for every pair of tokens in every head "
    "and layer. With 512 tokens, 12 heads and 12 layers that is 216 MiB for each row. Fused "
    "attention computes them again in the backward pass, with float32 sums inside.",
    wrong=changed(
        MODEL,
        (
            "        mixed = F.scaled_dot_product_attention(q, k, v)\n",
            "        scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5\n"
            "        mixed = F.softmax(scores, dim=-1) @ v\n",
        ),
    ),
    right=MODEL,
    check=check,
    hints=("autocast", "auto_cast", "amp_guard"),
    sources=("PyTorch docs, torch.nn.functional.scaled_dot_product_attention",),
)
