"""Renders an emitted model.py for tests, from a view that holds only what the template needs."""

from __future__ import annotations

from dataclasses import dataclass, field

from crosscast import emit


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


@dataclass(frozen=True)
class View:
    model: Model
    header: list[str] = field(default_factory=lambda: ["Written for a test.", "", "Edit freely."])


def render(framework: str, model: Model) -> str:
    return emit.render(emit.template_root(), f"{framework}/model.py.j2", {"view": View(model)})
