"""Chains of optax' transformations, as a program builds them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.containers import chase
from crosscast_reading.readers.python.library_calls import calls_of, canonical, last

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_OPTIMIZERS = frozenset(
    {
        *("adabelief", "adadelta", "adafactor", "adagrad", "adam", "adamax", "adamaxw", "adamw"),
        *("adan", "amsgrad", "fromage", "lamb", "lars", "lion", "nadam", "nadamw", "noisy_sgd"),
        *("novograd", "radam", "rmsprop", "rprop", "sgd", "sign_sgd", "sm3", "yogi"),
    }
)
_STATELESS = frozenset({"sgd", "noisy_sgd", "sign_sgd"})
"""Optimizers that keep nothing, unless they have momentum."""
_DEPTH = 4


@dataclass(frozen=True, slots=True)
class Link:
    """One transformation of a chain; without a call it is unknown."""

    name: str = ""
    """Name in optax."""
    call: Call | None = None

    @property
    def is_optimizer(self) -> bool:
        """Whether it turns gradients into updates, with the rate and its sign."""
        return self.name in _OPTIMIZERS

    @property
    def keeps(self) -> bool:
        """Whether it is an optimizer that keeps moments."""
        given = self.call.bound().get("momentum") if self.call is not None else None
        momentum = given is not None and not (isinstance(given, ast.Constant) and not given.value)
        return self.is_optimizer and (self.name not in _STATELESS or momentum)


def chains(program: Program) -> Iterator[tuple[Call, Sequence[Link]]]:
    """Yield every `optax.chain` that is no link of another one; chains in it are unfolded."""
    made = [call for name, call in calls_of(program) if name == "optax.chain"]
    inner = {node for call in made for node in _arguments(call)}
    for call in made:
        if call.node not in inner:
            yield call, _links(call, _DEPTH)


def _arguments(call: Call) -> Iterator[ast.AST]:
    """Yield the calls that the links of a chain are."""
    for argument in call.node.args:
        if not isinstance(argument, ast.Starred):
            yield from (node for node, _ in chase(argument, call.module))


def links_of(node: ast.expr, module: Module) -> Sequence[Link]:
    """Return the links of what an expression is; a transformation alone is one link."""
    return tuple(_unfolded(node, module, _DEPTH))


def _links(call: Call, depth: int) -> Sequence[Link]:
    links: list[Link] = []
    for argument in call.node.args:
        if isinstance(argument, ast.Starred):
            links.append(Link())
        else:
            links += _unfolded(argument, call.module, depth)
    return links


def _unfolded(node: ast.expr, module: Module, depth: int) -> Iterator[Link]:
    calls = [where.call(here) for here, where in chase(node, module) if isinstance(here, ast.Call)]
    ours = [call for call in calls if canonical(call.name).startswith("optax.")]
    # What a function of the program returns is followed; of any other nothing is known.
    others = [call for call in calls if call not in ours and ":" not in call.name]
    if len(ours) != 1 or others or depth == 0:
        yield Link()
    elif ours[0].method == "chain":
        yield from _links(ours[0], depth - 1)
    else:
        parts = canonical(ours[0].name).split(".")
        yield Link("MultiSteps" if "MultiSteps" in parts else last(ours[0].name), ours[0])
