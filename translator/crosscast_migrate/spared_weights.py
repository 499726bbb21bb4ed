"""Weights without decay: whether a recipe's roles are those that the source spares by name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import Diagnostic, Severity
from crosscast_migrate.models.installed import model_tables
from crosscast_migrate.models.network import Network
from crosscast_reading.lift.recipe_draft import Filled

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.program import Program

_PATH = "optimizer.no_decay"
_ONE_AXIS = re.compile(
    r"\.(?:ndim|dim\(\)|ndimension\(\)) *(?:==|<=?|>=?|!=) *[12]|len\(\w+\.shape\)"
)
_NORMS = frozenset({"batch_norm", "layer_norm"})
_WEIGHTLESS = frozenset({"dropout"})
_SPARED = "the new script spares biases and the weights of layer normalization"


def spared_weights(
    program: Program,
    fields: Mapping[str, Filled],
    network: Network | None,
    backends: Iterable[str],
) -> list[Diagnostic]:
    """Return a warning if the source may spare other weights than the new script does.

    Args:
        program: the source.
        fields: of the recipe.
        network: the model, if it was read.
        backends: frameworks of the targets.
    """
    spared, decay = fields.get(_PATH), fields.get("optimizer.weight_decay")
    chosen = spared is not None and spared.how == "read" and bool(spared.value)
    if not chosen or spared is None or fields["model.kind"].value != "custom":
        return []
    if decay is not None and decay.value == 0:
        return []
    words = {word for each in _words(program) for word in each}
    other = ""
    if network is not None:
        others = (_other(network, words, program, backend) for backend in backends)
        other = next(filter(None, others), "")
    if network is not None and not other:
        return []
    shown = f", and {other}" if other else ""
    return [
        Diagnostic(
            code="CC936",
            severity=Severity.WARNING,
            path=_PATH,
            span=spared.places[0] if spared.places else None,
            message=f"the source chooses the weights without decay itself; {_SPARED}{shown}",
        )
    ]


def _words(program: Program) -> Iterator[list[str]]:
    """Yield the lists of words in names of weights that a program has."""
    for module in program.modules:
        for node in module.nodes:
            if isinstance(node, ast.List | ast.Tuple | ast.Set):
                words = [n.value for n in node.elts if isinstance(n, ast.Constant)]
                texts = [word for word in words if isinstance(word, str)]
                if len(texts) == len(node.elts) and any("bias" in text for text in texts):
                    yield texts


def _other(network: Network, words: set[str], program: Program, backend: str) -> str:
    """Return the first weight of which source and new script decide differently; empty for none."""
    by_axes = any(_ONE_AXIS.search(module.source.text) for module in program.modules)
    if not words and not by_axes:
        return "what it spares was not read"
    tables = model_tables().get(backend)
    by_new = tables.spared if tables is not None else frozenset({"layer_norm"})
    for layer in network.layers:
        if layer.kind == "known_model":
            return f"the weights of {layer.name} were not compared"
        names = ["weight"] if layer.settings.get("bias") is False else ["weight", "bias"]
        for name in names:
            full = f"{layer.name}.{name}"
            if words:
                mine = any(word in full for word in words)
            else:
                mine = name == "bias" or layer.kind in _NORMS
            theirs = name == "bias" or layer.kind in by_new
            if mine != theirs and layer.kind not in _WEIGHTLESS:
                said = "not spared" if mine else "spared"
                does = "spares" if mine else "decays"
                return f"{full}, which the source {does}, is {said} in {backend}"
    return ""
