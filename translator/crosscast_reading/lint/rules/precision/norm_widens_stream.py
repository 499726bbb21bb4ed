"""CL407: a normalization returns float32, and the residual stream with it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.answers.mixed_precision import kept_by
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules._examples import changed
from crosscast_reading.lint.rules.precision._kept import FORMULA, MODEL, extra_bytes
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.tensors.scope import Leak


def check(subject: Subject) -> Iterator[Finding]:
    """Find normalizations whose float32 result is summed; one finding for each function."""
    groups: dict[tuple[object, str], list[Leak]] = {}
    for _, findings in kept_by(subject.program).findings:
        for (cause, place), leak in findings.leaks.items():
            if cause == "norm":
                row = leak.mark.row
                since = row.since if row is not None else ""
                function = place.module.function_of(place.node)
                groups.setdefault((function, since), []).append(leak)
    for leaks in groups.values():
        leaks.sort(key=_position)
        yield _finding(leaks, subject)


def _position(leak: Leak) -> tuple[int, int]:
    node = leak.mark.place.node
    return (node.lineno, node.col_offset) if isinstance(node, ast.expr) else (0, 0)


def _finding(leaks: list[Leak], subject: Subject) -> Finding:
    place, via, row = leaks[0].mark.place, leaks[0].mark.via, leaks[0].mark.row
    assert via is not None
    since = f" since {row.versions_of} {row.since}" if row is not None and row.since else ""
    cost = extra_bytes(place, subject)
    others = tuple(leak.mark.place for leak in leaks[1:])
    return Finding(
        span=place.module.span(place.node),
        message=f"{place.text} returns float32 in mixed precision{since}, and {via.text} stays "
        "float32" + (f": {cost}" if cost else ""),
        hint="compute it with autocast off and weights in the type of its input, and round the sum "
        f"of the embeddings once; a float32 stream takes {FORMULA}",
        related=(via.module.span(via.node), *(p.module.span(p.node) for p in others)),
    )


_OWN = """\
class LayerNorm(nn.LayerNorm):
    def forward(self, x):
        with torch.autocast(x.device.type, enabled=False):
            weight, bias = self.weight.to(x.dtype), self.bias.to(x.dtype)
            return F.layer_norm(x, self.normalized_shape, weight, bias, self.eps)


"""

RULE = Rule(
    code="CL407",
    name="norm-widens-stream",
    topic="precision",
    severity=Severity.NOTE,
    title="A normalization makes the residual stream float32",
    why="Autocast computes LayerNorm in float32 and returns float32. A sum of that and a half is "
    "float32, too, and so is everything up to the next product: the residual stream takes twice "
    "the memory, and every dense layer that reads it makes a half copy of its own. The kernel "
    "computes in float32 inside whatever the type of its input is. In PyTorch this holds for "
    "RMSNorm since 2.12; in Paddle for level O1.",
    wrong=changed(MODEL, (_OWN, ""), ("norm1 = L", "norm1 = nn.L"), ("norm2 = L", "norm2 = nn.L")),
    right=MODEL,
    check=check,
    hints=("autocast", "auto_cast", "amp_guard"),
    sources=(
        "PyTorch docs, Autocast Op Reference, CUDA Ops that can autocast to float32",
        "pytorch/pytorch#174824",
        "pytorch/pytorch#188955",
    ),
)
