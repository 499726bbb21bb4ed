"""Functions of Paddle that reject the graphs with names which programs of fluid keep, as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crosscast_migrate.codemod import Refusal
from crosscast_paddle.migration.experimental.paddle_names.imports import FLAG_NAME
from crosscast_paddle.migration.experimental.paddle_names.table import rows_for
from crosscast_paddle.migration.experimental.paddle_names.uses import whole_names
from crosscast_reading.pysource.programs.module import Module

_REJECTING = (
    (
        "paddle",
        "all amax amin any argmax argmin asin atanh bmm ceil cos cosh count_nonzero diagonal dot "
        "exp expand_as expm1 floor frexp gammainc gammaincc gcd greater_than histogramdd hypot "
        "isclose isfinite isinf isnan isneginf isposinf lcm ldexp log log10 log1p log2 logaddexp "
        "logical_and logical_not logical_or logical_xor logsumexp matmul maximum median minimum "
        "multiply nan_to_num nanmean nansum pdist round rsqrt sgn sigmoid sign signbit sin sinc "
        "sinh sqrt std sum tanh tensordot tril triu var vecdot",
    ),
    (
        "paddle.nn.functional",
        "alpha_dropout gelu glu l1_loss normalize pdist poisson_nll_loss sigmoid soft_margin_loss "
        "softplus tanh",
    ),
)
REJECTING = frozenset(f"{place}.{name}" for place, names in _REJECTING for name in names.split())
"""They accept only the variables of the new graphs in Paddle 3.3.1."""
_GRADIENTS = (
    "paddle.fluid.gradients",
    "paddle.fluid.backward.gradients",
    "paddle.static.gradients",
)
_FC = ("paddle.fluid.layers.fc", "paddle.static.nn.fc")
_OLD = {
    "sum": "reduce_sum",
    "multiply": "elementwise_mul",
    "all": "reduce_all",
    "any": "reduce_any",
}


def rejected(modules: Sequence[Module]) -> Iterator[Refusal]:
    """Report each function that fails in the graphs of a static program, once in each file."""
    if not any(has_old_graphs(module) for module in modules):
        return
    for module in modules:
        seen: set[str] = set()
        for node, name in whole_names(module):
            if name not in REJECTING or name in seen or module.is_dead(node):
                continue
            seen.add(name)
            yield Refusal(
                span=module.span(node),
                message=f"{name} fails with variables of the graphs that programs of fluid keep in "
                "Paddle 3",
                hint=_way(name.rpartition(".")[2]),
            )


def differentiated_twice(modules: Sequence[Module]) -> Iterator[Refusal]:
    """Report gradients in a graph that is differentiated again, where fc has no second gradient."""
    named = [(module, node, name) for module in modules for node, name in whole_names(module)]
    if not any(name in _FC for *_, name in named):
        return
    gradients = [(module, node) for module, node, name in named if name in _GRADIENTS]
    updates = [call for module in modules for call in module.calls if call.method == "minimize"]
    if len(gradients) + len(updates) < 2:
        return
    for module in dict.fromkeys(module for module, _ in gradients):
        node = next(node for home, node in gradients if home is module)
        yield Refusal(
            span=module.span(node),
            message="if these gradients are differentiated again: fc has no second gradient in "
            "the graphs that programs of fluid keep in Paddle 3",
            hint="write fc with fluid.layers.matmul and elementwise_add, and migrate the file "
            "again, if a loss or other gradients are computed of these",
        )


def has_old_graphs(module: Module) -> bool:
    """Whether a module builds graphs with names: those of fluid, also after its migration."""
    if FLAG_NAME in module.source.text:
        return True
    names = (*module.imports.values(), *(name for _, name in whole_names(module)))
    return any(name.startswith("paddle.fluid") for name in names)


def _way(name: str) -> str:
    old = _OLD.get(name, name)
    if f"layers.{old}" in rows_for("static"):
        return f"write fluid.layers.{old}, and migrate the file again"
    return "write it with functions of fluid.layers, and migrate the file again"
