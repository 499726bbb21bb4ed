"""API generations of JAX that can be emitted.

The oldest releases are those in which scripts ran. JAX 0.8.2 is the first with the option
`jax_enable_preemption_service`, which scripts for several processes set; a script can tell 0.9
from 0.8, but not 0.8.2 from 0.8.1. Flax 0.12.1 is the first whose normalizations take
`promote_dtype`, but its `nnx.jit` does not work from JAX 0.8.2 on; optax 0.2.5 is the first with
`optax.tree`.
"""

from __future__ import annotations

from crosscast.targets.backend import Dialect

DIALECTS = (
    Dialect(
        name="jax",
        title="JAX 0.9 or newer (Flax NNX)",
        since="0.9",
        newest="0.10",
        requirements=(
            "jax>=0.9",
            "flax>=0.12.2",
            "optax>=0.2.5",
            "numpy>=2.0",
            "safetensors>=0.6",
        ),
    ),
)
