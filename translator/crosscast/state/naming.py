"""Weights with the same names in every framework."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SHIPPED = re.compile(
    r"bert\.embeddings\.(word_embeddings|position_embeddings|token_type_embeddings)\.weight"
    r"|(bert\.embeddings\.LayerNorm|bert\.pooler\.dense|classifier"
    r"|bert\.encoder\.layer\.[0-9]+\.(attention\.self\.(query|key|value)"
    r"|attention\.output\.(dense|LayerNorm)|intermediate\.dense|output\.(dense|LayerNorm))"
    r")\.(weight|bias)"
)


def is_shipped(names: Iterable[str]) -> bool:
    """Whether all names are those of the shipped BERT, which are equal in every framework."""
    listed = list(names)
    return bool(listed) and all(_SHIPPED.fullmatch(name) for name in listed)
