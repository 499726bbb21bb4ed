"""How the generations of Paddle compute attention in one operation, or why they do not."""

from __future__ import annotations

from dataclasses import replace

from crosscast.recipe.predicates import fused_attention
from crosscast.targets.capability import Evidence, Row, Verdict
from crosscast_paddle.target.adaptations import PaddleAdaptation as Adapt

HOW_TO_SAY_EXPLICIT = ": write model.attention: explicit"
_LACKING = Row(
    path="model.attention",
    verdict=Verdict.ADAPTED,
    how="scaled_dot_product_attention with a mask computes on GPUs in half only: two products and "
    f"a softmax, which keep their scores{HOW_TO_SAY_EXPLICIT}",
    code="CC369",
    evidence=Evidence.DOCUMENTED,
    probe="paddle/test_attention.py::test_paddle_2_has_no_masked_attention_on_cpu",
    when=fused_attention,
    adapt=Adapt.EXPLICIT_ATTENTION,
    dialects=frozenset({"dygraph2"}),
)
_EXPLICIT = Row(path="model.attention", how="two matrix products and a softmax")
ATTENTION_ROWS = (
    _LACKING,
    Row(
        path="model.attention",
        how="F.scaled_dot_product_attention: in half on GPUs it keeps no scores and drops inside; "
        "elsewhere Paddle computes the same in several operations",
        evidence=Evidence.DOCUMENTED,
        probe="paddle/test_attention.py::test_fused_attention_is_the_formula",
        when=fused_attention,
        adapt=Adapt.FUSED_ATTENTION,
        dialects=frozenset({"dygraph"}),
    ),
    _EXPLICIT,
)
FLEET_ATTENTION = tuple(
    replace(row, dialects=frozenset({"fleet"})) for row in (_LACKING, _EXPLICIT)
)
