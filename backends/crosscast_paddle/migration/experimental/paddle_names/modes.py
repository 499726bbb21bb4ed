"""Whether a program computes at once or builds a graph first: by what it calls, not by words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from crosscast.messages.source import Source
from crosscast_paddle.migration.experimental.paddle_names.names import plain
from crosscast_paddle.migration.experimental.paddle_names.row import Mode
from crosscast_paddle.migration.experimental.paddle_names.uses import whole_names
from crosscast_reading.pysource.programs.module import Module

_DYNAMIC = re.compile(
    r"(?:dygraph\.)?enable_(?:dygraph|imperative)|dygraph\.(?:guard|Layer|to_variable)|"
    r"paddle\.(?:imperative\.)?(?:to_variable|enable_imperative)|paddle\.disable_static"
)
"""What only a program that computes at once needs; some switch to graphs for a part of it."""
_STATIC = re.compile(
    r"(?:layers\.)?data|program_guard|Executor|ParallelExecutor|paddle\.enable_static|"
    r"paddle\.static\.(?:data|program_guard|Executor|ParallelExecutor)"
)
_AT_ONCE = re.compile(
    r"(?:dygraph|paddle\.imperative)\..*|paddle\.(?:to_tensor|set_device|no_grad|nn\.Layer)"
)
"""What graphs of Paddle 2 may have as well."""
_AT_ONCE_BESIDE = re.compile(
    r"\bimport dygraph\b|\bdygraph\.(guard|Layer)\b|\.clear_grad(ients)?\(|"
    r"\b(enable_dygraph|disable_static|to_variable)\("
)
_GRAPHS_BESIDE = re.compile(r"\b(program_guard|Executor|ParallelExecutor)\(")
"""Signs of either in the text of files that the program does not import."""
_METHODS = ("clear_grad", "clear_gradients")


def mode_of(modules: Iterable[Module], beside: Iterable[Source] = ()) -> Mode:
    """Return the mode of the program that consists of some modules.

    Without a sign of either, a file is like those beside it; and if they have none, programs of
    Paddle 1 build graphs and those of Paddle 2 do not.
    """
    whole = list(modules)
    written = set(_names(whole))
    names = set(map(plain, written))
    if any(map(_DYNAMIC.fullmatch, names)):
        return "dynamic"
    if any(map(_STATIC.fullmatch, names)):
        return "static"
    if any(map(_AT_ONCE.fullmatch, names)) or _clears(whole):
        return "dynamic"
    texts = "\n".join(source.text for source in beside)
    if _AT_ONCE_BESIDE.search(texts) and not _GRAPHS_BESIDE.search(texts):
        return "dynamic"
    return "static" if any(name.startswith("paddle.fluid") for name in written) else "dynamic"


def _names(modules: Iterable[Module]) -> Iterator[str]:
    for module in modules:
        yield from (name for node, name in whole_names(module) if not module.is_dead(node))
        yield from (name for name in module.imports.values() if name.startswith("paddle."))


def _clears(modules: Iterable[Module]) -> bool:
    """Whether a gradient is cleared, which no graph needs."""
    return any(call.method in _METHODS for module in modules for call in module.calls)
