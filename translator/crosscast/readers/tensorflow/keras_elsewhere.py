"""Loss scaling optimizers of TensorFlow in programs whose policy another file sets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.facts.fact import Fact
from crosscast.readers.python.decisions import PRECISION
from crosscast.readers.python.library_calls import calls_of
from crosscast.readers.python.precision import precision_facts, site

if TYPE_CHECKING:
    from crosscast.pysource.programs.program import Program

_ELSEWHERE = re.compile(
    r"graph_rewrite|auto_mixed_precision|AUTO_MIXED_PRECISION|set_(global_)?policy|(?i:policy\()"
)
"""Other ways to enable half precision; with one of them, the wrapper does not show who decides."""
_WORDS = PRECISION | {"scale", "scaling"}
"""A switch for the loss scale decides about a wrapper, too."""
_WRAPS = re.compile(r"^(keras|tensorflow)\.[\w.]*LossScaleOptimizer$")


def by_scaler(program: Program) -> Iterator[Fact]:
    """Yield who decides, if an optimizer is wrapped and another file sets the policy."""
    if any(_ELSEWHERE.search(module.source.text) for module in program.modules):
        return
    calls = [call for name, call in calls_of(program) if _WRAPS.search(name)]
    found = [site(call.node, call.module, ("float16",), wanted=_WORDS) for call in calls]
    switched = [site for site in found if site.decision.who != "always"]
    yield from precision_facts(switched[:1], "keras")
