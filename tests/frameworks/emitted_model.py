"""The emitted model.py of a small BERT."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from crosscast.emit.compiler import compile_recipe
from frameworks.emitted_script import TINY, tiny_recipe

QUOTES = '"""'


@dataclass(frozen=True)
class Model:
    vocab_size: int = 64
    hidden_size: int = 32
    layers: int = 2
    attention_heads: int = 2
    intermediate_size: int = 64
    max_positions: int = 16
    type_vocab_size: int = 2
    labels: int = 3
    dropout: float = 0.0
    layer_norm_eps: float = 1e-12
    init_std: float = 0.02

    @property
    def has_dropout(self) -> bool:
        return self.dropout > 0


def render(target: str, model: Model, **sections: Any) -> str:
    """Return the text of model.py with a header of its own; `sections` are more of the recipe."""
    sections["data"] = TINY["data"] | {"sequence_length": 1}
    recipe = tiny_recipe(model={"kind": "bert", **asdict(model)}, **sections)
    (compiled,) = compile_recipe(recipe, [target])
    title, _, body = compiled.files["model.py"].text.partition("\n")
    return f'{title}\n\nWritten for a test.\n"""{body.partition(QUOTES)[2]}'
