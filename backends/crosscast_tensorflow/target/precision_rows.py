"""What TensorFlow with Keras can express of precision: policies, half weights, stored types."""

from __future__ import annotations

import crosscast_tensorflow.target.conditions as when
from crosscast.plan import predicates
from crosscast.recipe import predicates as recipes
from crosscast.targets.capability import Evidence, Row, Verdict
from crosscast_tensorflow.target.adaptations import TensorflowAdaptation as Adapt

REWRITE = frozenset({"graph-rewrite"})
POLICIES = frozenset({"keras3", "keras2"})

_ADAPTED, _APPROXIMATE = Verdict.ADAPTED, Verdict.APPROXIMATE
_UNSUPPORTED = Verdict.UNSUPPORTED

PRECISION_ROWS = (
    Row(
        path="precision.compute_dtype",
        verdict=_UNSUPPORTED,
        how="the graph rewrite supports only float16",
        code="CC371",
        evidence=Evidence.DOCUMENTED,
        probe="none: the rewrite does nothing without a GPU",
        step=predicates.bfloat16,
        dialects=REWRITE,
    ),
    Row(
        path="precision",
        verdict=_UNSUPPORTED,
        how="the graph rewrite leaves weights in float32",
        code="CC371",
        evidence=Evidence.DOCUMENTED,
        probe="none: the rewrite does nothing without a GPU",
        step=predicates.half_weights,
        dialects=REWRITE,
    ),
    Row(
        path="precision",
        verdict=_APPROXIMATE,
        how="TensorFlow chooses the operations that run in float16, on GPUs only: on a CPU the "
        "script exits with code 3",
        code="CC371",
        evidence=Evidence.DOCUMENTED,
        probe="tensorflow/test_keras2.py::test_the_graph_rewrite_does_nothing_on_a_cpu",
        step=predicates.mixed,
        dialects=REWRITE,
        adapt=Adapt.GRAPH_REWRITE,
    ),
    Row(
        path="precision.mode",
        verdict=_APPROXIMATE,
        how="the policy also applies to normalization layers of your model",
        code="CC330",
        probe="tensorflow/test_half_weights.py::test_a_half_policy_holds_for_normalization",
        when=when.full_own_model,
    ),
    Row(
        path="precision.ops.matmul",
        verdict=_UNSUPPORTED,
        how="dense layers compute in the type of their weights",
        code="CC331",
        probe="tensorflow/test_half_weights.py::test_dense_layers_compute_in_the_type_they_hold",
        when=when.full_matmul_float32,
    ),
    Row(
        path="precision.ops",
        verdict=_UNSUPPORTED,
        how="the graph rewrite chooses the type of every operation: write precision.policy: "
        "float32_stream, without ops",
        code="CC371",
        evidence=Evidence.DOCUMENTED,
        probe="none: the rewrite does nothing without a GPU",
        when=recipes.stores_half,
        dialects=REWRITE,
    ),
    Row(
        path="precision.ops",
        how="casts where a stored type changes. Softmax, LayerNormalization and GELU of the script "
        "compute in float32 inside and keep half for backward, and dropout divides in float32. "
        "Keras casts kernels in every micro-batch",
        probe="tensorflow/test_stored_types.py::test_a_mixed_normalization_keeps_float32",
        when=recipes.stores_half,
        adapt=Adapt.STORED_TYPES,
        dialects=POLICIES,
    ),
    Row(
        path="precision.ops",
        how="casts and layer policies in the emitted model",
        when=recipes.own_types,
        adapt=Adapt.OWN_TYPES,
        dialects=POLICIES,
    ),
    Row(
        path="precision.ops",
        verdict=_UNSUPPORTED,
        how="the graph rewrite chooses the type of every operation",
        code="CC371",
        evidence=Evidence.DOCUMENTED,
        probe="none: the rewrite does nothing without a GPU",
        when=recipes.own_types,
        dialects=REWRITE,
    ),
    Row(path="precision.tf32", how="enable_tensor_float_32_execution"),
    Row(
        path="precision",
        verdict=_ADAPTED,
        how="Keras updates half weights: the script's optimizer keeps float32 copies",
        code="CC377",
        probe="tensorflow/test_half_weights.py::test_small_updates_of_half_weights_are_lost",
        step=predicates.half_weights,
        adapt=Adapt.MASTER_WEIGHTS,
        dialects=POLICIES,
    ),
    Row(
        path="precision",
        how="dense layers in float32, and casts where the model stores half; float32 variables",
        when=when.products_in_float32,
        step=predicates.mixed,
        dialects=POLICIES,
    ),
    Row(
        path="precision",
        how="a mixed dtype policy for the dense layers; float32 variables",
        step=predicates.mixed,
        adapt=Adapt.MIXED_POLICY,
        dialects=POLICIES,
    ),
    Row(path="precision", how="float32 throughout"),
)
