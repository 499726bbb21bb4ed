"""The chain of transformations that a call of optax is a link of."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.containers import chase
from crosscast_reading.readers.python.library_calls import calls_of, canonical, last

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_WRAPPERS = frozenset({"masked", "inject_hyperparams", "multi_steps", "MultiSteps"})
"""Transformations around the one that is given first."""
_DEPTH = 4


@dataclass(frozen=True, slots=True)
class Chain:
    """The links of an `optax.chain` in order, those of chains in it among them."""

    links: Sequence[Call]

    def place(self, call: Call) -> int:
        """Return the number of a link."""
        return next(n for n, link in enumerate(self.links) if link.node is call.node)

    def named(self, name: str) -> list[Call]:
        """Return the links of a name in optax."""
        return [link for link in self.links if last(canonical(link.name)) == name]

    def is_bare(self, call: Call) -> bool:
        """Whether an optimizer is only its direction: `scale_by_adam`, which has no rate."""
        return last(canonical(call.name)).startswith("scale_by_")

    def has_decay_behind(self, call: Call) -> bool:
        """Whether decay is added to the direction, before the rate multiplies both."""
        after = self.links[self.place(call) + 1 :]
        return self.is_bare(call) and any(
            last(canonical(link.name)) == "add_decayed_weights" for link in after
        )


def chain_around(call: Call) -> Chain | None:
    """Return the chain that an optimizer is a link of; None if it stands alone."""
    for links in _chains(call.module.program):
        if any(link.node is call.node for link in links):
            return Chain(links)
    return None


def _chains(program: Program) -> list[list[Call]]:
    """Return the links of every chain, the longest first: a chain may be in another one."""
    chains = [
        _unfolded(call.node, call.module, _DEPTH)
        for name, call in calls_of(program)
        if name in ("optax.chain", "optax.named_chain")
    ]
    return sorted(chains, key=len, reverse=True)


def _unfolded(node: ast.expr, module: Module, depth: int) -> list[Call]:
    """Return the links that an expression is, through names and wrappers."""
    links: list[Call] = []
    for part, where in chase(node, module) if depth else ():
        if not isinstance(part, ast.Call):
            continue
        call = where.call(part)
        name = last(canonical(call.name))
        if name in ("chain", "named_chain"):
            for argument in part.args:
                inner = argument.elts[-1] if isinstance(argument, ast.Tuple) else argument
                if not isinstance(inner, ast.Starred):
                    links += _unfolded(inner, where, depth - 1)
        elif name in _WRAPPERS and part.args:
            links += _unfolded(part.args[0], where, depth - 1)
        else:
            links.append(call)
    return links
