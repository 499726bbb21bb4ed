"""Loss scaling optimizers of TensorFlow in programs whose policy another file sets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.decisions import PRECISION
from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_reading.readers.python.precision import precision_facts, site

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.program import Program

_ELSEWHERE = re.compile(
    r"graph_rewrite|auto_mixed_precision|AUTO_MIXED_PRECISION|set_(global_)?policy"
    r"|(?i:(?<!global_)policy\()"
)
"""Other ways to enable half precision; with one of them, the wrapper does not show who decides."""
_WORDS = PRECISION | {"scale", "scaling"}
"""A switch for the loss scale decides about a wrapper, too."""
_WRAPS = re.compile(r"^(keras|tensorflow)\.[\w.]*LossScaleOptimizer$")


def by_scaler(program: Program) -> Iterator[Fact]:
    """Yield who decides, if an optimizer is wrapped and another file sets the policy.

    Without a test around the wrapper, the code that calls its function decides: nothing scales the
    loss of a model in float32.
    """
    if any(_ELSEWHERE.search(module.source.text) for module in program.modules):
        return
    calls = [call for name, call in calls_of(program) if _WRAPS.search(name)]
    sites = [site(call.node, call.module, ("float16",), wanted=_WORDS) for call in calls]
    switched = [site for site in sites if site.possible and site.decision.who != "always"]
    yield from precision_facts(switched[:1], "keras")
    if not switched and sites and _is_for_others(calls[0]):
        span = sites[0].span
        word = Known("caller")
        yield fact_of("precision.enabled", word, span, reader="keras", confidence="likely")
        yield fact_of("precision.dtypes", Known(("float16",)), span, reader="keras")


def _is_for_others(call: Call) -> bool:
    """Whether a call is in a function that the program does not call."""
    function = call.module.function_of(call.node)
    return function is not None and not call.module.program.call_sites(call.module, function)
