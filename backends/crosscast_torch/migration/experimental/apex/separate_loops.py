"""Loops of one program that have nothing of apex.amp in common: each moves or stays for itself."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_torch.migration.experimental.apex.uses import Stops, Uses

if TYPE_CHECKING:
    from crosscast_migrate.codemod import Refusal
    from crosscast_reading.pysource.programs.module import Module


@dataclass(frozen=True, slots=True)
class Part:
    """The uses of apex.amp in one function or class of a module."""

    module: Module
    home: ast.stmt
    uses: Uses

    def has(self, refusal: Refusal) -> bool:
        """Whether a refusal is about this part."""
        span = refusal.span
        last = self.home.end_lineno or self.home.lineno
        return span.file == self.module.source.name and self.home.lineno <= span.line <= last


def parts_of(uses: Uses) -> list[Part]:
    """Return the loops of a program, if each initializes apex and is alone in a function or class.

    Empty if there is only one, or if something is shared.
    """
    found: dict[ast.stmt, Part] = {}
    for word, calls in uses.calls.items():
        for call in calls:
            home = next(
                (top for top in call.module.tree.body if _holds(top, call.node)),
                None,
            )
            if not isinstance(home, ast.FunctionDef | ast.ClassDef):
                return []
            part = found.setdefault(home, Part(call.module, home, Uses()))
            part.uses.calls.setdefault(word, []).append(call)
    for part in found.values():
        part.uses.sites = [site for site in uses.sites if _holds(part.home, site.node)]
        if not part.uses.of("initialize"):
            return []
    return list(found.values()) if len(found) > 1 else []


def stops_of(part: Part, parts: list[Part], stops: Stops) -> Stops:
    """Return the reasons that are not about another part."""
    others = [other for other in parts if other is not part]
    kept = [r for r in stops.refusals if not any(other.has(r) for other in others)]
    return Stops(kept)


def _holds(home: ast.stmt, node: ast.AST) -> bool:
    first, last = home.lineno, home.end_lineno or home.lineno
    return first <= getattr(node, "lineno", 0) <= last
