"""Old names in one form: the modules in which `paddle.fluid` defines a name are left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from crosscast_paddle.migration.experimental.paddle_names.present import absent_part
from crosscast_paddle.migration.experimental.paddle_names.row import Mode, NameRow

_PREFIX = "paddle.fluid."
_PRIVATE = (
    (
        re.compile(
            r"layers\.(?:nn|tensor|ops|control_flow|io|loss|metric_op|detection|rnn|"
            r"learning_rate_scheduler|sequence_lod|device)\."
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
_EARLY = {
    "": ("paddle",),
    "layers": ("paddle", "paddle.tensor", "paddle.nn", "paddle.nn.functional"),
    "dygraph": ("paddle", "paddle.nn", "paddle.imperative"),
    "initializer": ("paddle.nn.initializer",),
    "optimizer": ("paddle.optimizer",),
    "regularizer": ("paddle.regularizer",),
    "clip": ("paddle.nn", "paddle.nn.clip"),
    "io": ("paddle.io",),
}
_SUFFIXES = {"initializer": "Initializer", "optimizer": "Optimizer", "regularizer": "Regularizer"}
_OTHER_MEANING = ("layers.hsigmoid", "dygraph.save", "dygraph.load", "layers.data", "data")
"""Names that were not passed on, but defined again or used for something else."""
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


def by_name(rows: Iterable[NameRow], mode: Mode) -> Mapping[str, NameRow]:
    """Return the rows for programs of one kind by old name.

    Raises:
        ValueError: a name has two rows.
    """
    found: dict[str, NameRow] = {}
    early: dict[str, NameRow] = {}
    for row in rows:
        if row.mode not in (mode, "both"):
            continue
        for name in row.old:
            if name in found:
                raise ValueError(f"{name} has two rows for {mode} programs")
            found[name] = row
            if mode == "dynamic" or _needs_no_graph_of_fluid(name, row):
                early |= {other: row for other in early_names(name) if absent_part(other)}
    return early | found


def _needs_no_graph_of_fluid(name: str, row: NameRow) -> bool:
    """Whether a row for graphs with names also holds for those of Paddle 2 and 3."""
    known = row.new and not row.helper
    return bool(known) and name.rpartition(".")[0] in ("", "initializer")


def early_names(name: str) -> Iterator[str]:
    """Yield where Paddle 2.0 alpha and beta had a name of fluid, which they passed on unchanged."""
    home, _, short = name.rpartition(".")
    if name in _OTHER_MEANING or home not in _EARLY:
        return
    for place in _EARLY[home]:
        yield f"{place}.{short}"
        yield f"{place}.{short}{_SUFFIXES.get(home, '')}"
