"""Old names in one form: the modules in which `paddle.fluid` defines a name are left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from crosscast.migrate.paddle_names.row import Mode, Row

_PREFIX = "paddle.fluid."
_PRIVATE = (
    (
        re.compile(
            r"layers\.(?:nn|tensor|ops|control_flow|io|loss|metric_op|detection|rnn|"
            r"learning_rate_scheduler|sequence_lod|utils|device)\."
        ),
        "layers.",
    ),
    (
        re.compile(
            r"(?:framework|executor|compiler|param_attr|data_feeder|parallel_executor|"
            r"lod_tensor|dataset|backward)\."
        ),
        "",
    ),
    (
        re.compile(
            r"dygraph\.(?:nn|base|layers|parallel|container|checkpoint|jit|"
            r"learning_rate_scheduler|tracer|io)\."
        ),
        "dygraph.",
    ),
    (re.compile(r"io\.(?:dataloader|reader)\."), "io."),
    (re.compile(r"core\.(?=CPUPlace|CUDAPlace|CUDAPinnedPlace|LoDTensor\b|Scope\b)"), ""),
    (re.compile(r"reader\.(?=DataLoader|PyReader)"), "io."),
)
_SUFFIXED = re.compile(
    r"((?:initializer|optimizer|regularizer)\.\w+?)(?:Initializer|Optimizer|Regularizer)\b"
)
_WRAPPERS = ("optimizer.Optimizer", "initializer.Initializer")
_KEPT = re.compile(r"optimizer\.(?:Recompute|Pipeline|Lookahead|GradientMerge)Optimizer\b")


def plain(name: str) -> str:
    """Return an old qualified name in the form of the table; other names as they are."""
    if not name.startswith(_PREFIX):
        return name
    rest = name.removeprefix(_PREFIX)
    for pattern, new in _PRIVATE:
        if found := pattern.match(rest):
            rest = new + rest[found.end() :]
    if not _KEPT.match(rest) and not rest.startswith(_WRAPPERS):
        rest = _SUFFIXED.sub(r"\1", rest)
    return rest


def by_name(rows: Iterable[Row], mode: Mode) -> Mapping[str, Row]:
    """Return the rows for programs of one kind by old name.

    Raises:
        ValueError: a name has two rows.
    """
    found: dict[str, Row] = {}
    for row in rows:
        if row.mode not in (mode, "both"):
            continue
        for name in row.old:
            if name in found:
                raise ValueError(f"{name} has two rows for {mode} programs")
            found[name] = row
    return found
