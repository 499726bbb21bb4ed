"""JAX with Flax as scripts and checkpoints show it."""

from __future__ import annotations

from crosscast.targets.framework import Framework, ModelTest, OwnModel, Weights

FRAMEWORK = Framework(
    module="jax",
    word="jax",
    weights=Weights(
        kernel="(in, out)",
        own="paths of variables: `net.dense.kernel`",
        evidence="frameworks/test_state_convert.py::test_own_models_go_on_by_a_map",
    ),
    own_model=OwnModel(
        imported="from flax import nnx",
        returns="nnx.Module",
        called="model(input_ids=..., ...), one keyword an array of the npz file but labels",
        answer="an array of logits [rows, classes]",
        test=ModelTest(
            imported="import jax\nfrom flax import nnx",
            learns="jax.tree.leaves(nnx.state(build_model(nnx.Rngs(0)), nnx.Param))",
            outputs="build_model(nnx.Rngs(0))(**ROWS)",
        ),
    ),
    optimizers=("optax.{}",),
    tf32=(True, "0.1"),  # jax_default_matmul_precision
    clip="optax.clip_by_global_norm",
)
