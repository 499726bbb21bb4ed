"""Third-party trainers: the target, and what is known of programs for it."""

from __future__ import annotations

from pathlib import Path

from crosscast.targets.source_support import SourceSupport

TEXTS = Path(__file__).parent / "texts"
"""Chinese texts of its codes, rules and hints."""
SUPPORT = SourceSupport(
    python_readers={
        "accelerate": "crosscast_trainers.reading.accelerate:READER",
        "deepspeed": "crosscast_trainers.reading.deepspeed:READER",
        "lightning": "crosscast_trainers.reading.lightning:READER",
        "transformers": "crosscast_trainers.reading.transformers:READER",
    },
    rules="crosscast_trainers.rules",
    words="crosscast_trainers.words:WORDS",
    texts=TEXTS,
)
"""Programs that others wrote, see `targets.source_support`."""
