"""How each framework names and lays out weights, and what that asks of a conversion."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Naming:
    """Weights of one framework as its emitted script keeps them, with a test that shows it."""

    kernel: str
    """Layout of the kernel of a dense layer inside the framework."""
    own: str
    """What its checkpoints call the weights of a model of one's own; those of the shipped BERT
    have the names of Hugging Face and PyTorch's layout everywhere."""
    evidence: str


NAMINGS: dict[str, Naming] = {
    "torch": Naming(
        "(out, in)",
        "those of `state_dict()`",
        "frameworks/test_state_convert.py::test_shipped_bert_goes_on_in_another_framework",
    ),
    "tensorflow": Naming(
        "(in, out)",
        "paths of variables: `net/dense/kernel`",
        "frameworks/test_state_convert.py::test_own_models_go_on_by_a_map",
    ),
    "paddle": Naming(
        "(in, out)",
        "those of `state_dict()`",
        "frameworks/test_state_convert.py::test_own_models_go_on_by_a_map",
    ),
}

_SHIPPED = re.compile(
    r"bert\.embeddings\.(word_embeddings|position_embeddings|token_type_embeddings)\.weight"
    r"|(bert\.embeddings\.LayerNorm|bert\.pooler\.dense|classifier"
    r"|bert\.encoder\.layer\.[0-9]+\.(attention\.self\.(query|key|value)"
    r"|attention\.output\.(dense|LayerNorm)|intermediate\.dense|output\.(dense|LayerNorm))"
    r")\.(weight|bias)"
)


def is_shipped(names: Iterable[str]) -> bool:
    """Whether all names are those of the shipped BERT, which are the same on every framework."""
    found = list(names)
    return bool(found) and all(_SHIPPED.fullmatch(name) for name in found)
