"""JAX with Flax NNX and optax: the target, and what is known of programs for it."""

from __future__ import annotations

from pathlib import Path

from crosscast.targets.source_support import SourceSupport

TEXTS = Path(__file__).parent / "texts"
"""Chinese texts of its codes, rules and hints."""
SUPPORT = SourceSupport(
    text_readers={
        "maxtext_yaml": "crosscast_jax.reading.maxtext_yaml:READER",
        "tunix_yaml": "crosscast_jax.reading.tunix_yaml:READER",
    },
    python_readers={
        "big_vision": "crosscast_jax.reading.big_vision:READER",
        "jax": "crosscast_jax.reading.reader:READER",
    },
    rules="crosscast_jax.rules",
    models="crosscast_jax.models:MODELS",
    saved_states="crosscast_jax.states.state:STATES",
    words="crosscast_jax.words:WORDS",
    texts=TEXTS,
)
"""Programs that others wrote, see `targets.source_support`."""
