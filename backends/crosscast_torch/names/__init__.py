"""The public names of PyTorch, as `make index` finds them in the installed release."""

from __future__ import annotations

from pathlib import Path

from crosscast_migrate.binding.index import PublicNames

NAMES = PublicNames(
    file=Path(__file__).with_name("index.json.xz"),
    past=Path(__file__).with_name("past.json.xz"),
    added=frozenset(
        f"torch.{name}"
        for name in ("hpu", "mlu", "musa", "neuron", "npu", "sdaa", "ops", "classes")
    ),
)
