"""What a comparison of modules says: the first difference, the model as a list, JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from crosscast_parity.modules.calls import Call, ancestors
from crosscast_parity.modules.command import Result
from crosscast_parity.modules.comparison import Compared, Place
from crosscast_parity.modules.differences import Difference
from crosscast_parity.modules.judgement import Judgement

NO_TRAINING = ("levels", "everything that trains, because the models differ")
FROM_THE_SAME = "the models differ in what does not change training ({}): training is compared"
OUTPUT, GRADIENT = "first output", "first gradient"
"""What calls are marked with."""
NO_METRICS = ("modules", "metrics, because the models differ")
NO_STATE = ("modules", "running statistics, because `loss.kind: custom` calls the model")


def text_of(result: Result) -> list[str]:
    """Return the report in lines."""
    lines = []
    for judgement in result.judgements:
        lines += [*summary(judgement), ""]
        if not judgement.same:
            lines += [*drawing(judgement), ""]
    if result.beside_training:
        lines.append(FROM_THE_SAME.format(", ".join(result.beside_training)))
    for framework, left in result.left.items():
        lines.append(f"{framework}: weights without counterpart: {', '.join(left)}")
    lines += [f"NOT TESTED: {level}: {words}" for level, words in not_tested(result)]
    return lines


def not_tested(result: Result) -> list[tuple[str, str]]:
    """Return `modules` or `levels`, and what of them was not tested."""
    gaps = [] if result.state else [NO_STATE]
    gaps += [] if result.metrics else [NO_METRICS]
    return gaps + ([] if result.trains_alike else [NO_TRAINING])


def verdict(judgement: Judgement) -> str:
    """Return the verdict on the modules of two frameworks."""
    if judgement.beside_training:
        return f"SAME but for {', '.join(judgement.beside_training)}"
    return "SAME" if judgement.same else "DIFFERENT"


def summary(judgement: Judgement) -> list[str]:
    """Return the result of comparing two frameworks, as lines."""
    comparison = judgement.comparison
    names = f"{comparison.first} and {comparison.other}"
    pairs = len(comparison.compared)
    lines = [f"{names}: modules {verdict(judgement)}, {pairs} compared"]
    lines.append(
        f"  outputs of the models differ by {comparison.outputs:.1e}, "
        f"gradients of weights by {comparison.weights:.1e}"
    )
    if judgement.output is not None:
        lines += _place(judgement.output)
    if judgement.gradient is not None:
        lines.append(f"  first gradient: {_gradient(judgement, judgement.gradient)}")
    return lines + [f"  {line}" for line in _differences(judgement.differences)]


def _differences(differences: Sequence[Difference]) -> Iterator[str]:
    """Yield a line for each kind of difference: the first module that has it, and how many more."""

    def key(difference: Difference) -> tuple[bool, bool, int]:
        return not difference.certain, not difference.kind, order[difference.kind]

    order: dict[str, int] = {}
    for difference in differences:
        order.setdefault(difference.kind, len(order))
    shown = sorted(differences, key=key)
    for _, group in groupby(shown, key=key):
        first, *others = group
        more = f"; {len(others)} more" if others else ""
        yield f"{_difference(first)}{more}"


def _place(place: Place) -> Iterator[str]:
    at = place.at
    before = "nothing before it"
    if place.after is not None:
        before = f"{place.after.outputs:.1e} before it ({place.after.pair.a.text})"
    after = _shapes(at) if at.pair.other_sizes else f"{at.outputs:.1e} after it"
    yield f"  first output: {_pair_text(at)}: {before}, {after}"
    if place.within is at.pair.a:
        yield "    the modules that it calls are the same: the cause is in its code behind them"
    elif place.within is not None:
        yield f"    its inputs differ: the cause is in the code of {place.within.text} before it"


def _shapes(compared: Compared) -> str:
    shapes = (list(call.outputs[0].shape) for call in (compared.pair.a, compared.pair.b))
    return "another shape after it: {}, {}".format(*shapes)


def _gradient(judgement: Judgement, gradient: Compared) -> str:
    later = judgement.comparison.gradient_after(gradient)
    before = f"{later.gradients:.1e} before it ({later.pair.a.text}), " if later else ""
    return (
        f"{_pair_text(gradient)}, in the backward pass: {before}{gradient.gradients:.1e} after it"
    )


def _pair_text(compared: Compared) -> str:
    return f"{compared.pair.a.text} ({compared.pair.a.kind}; {compared.pair.b.text})"


def _difference(difference: Difference) -> str:
    kind = difference.kind or "no known difference fits"
    head = "difference" if difference.certain else "note"
    where = difference.module or difference.counterpart or difference.what
    return f"{head}: {kind}: {where}: {difference.words}"


def drawing(judgement: Judgement) -> list[str]:
    """Return the modules of the first framework as a list, with errors along it."""
    comparison = judgement.comparison
    by_number = {c.pair.a.number: c for c in comparison.compared}
    marked = marked_calls(judgement)
    width = 44
    lines = [f"  {'module':{width}} {'output':>8} {'gradient':>8}"]
    for call in sorted(comparison.ours, key=lambda call: call.number):
        depth = len(ancestors(call, comparison.ours))
        name = f"{'  ' * depth}{short_path(call, comparison.ours)} {call.kind}"[:width]
        marks = _marks(marked.get(call.number, []))
        line = f"  {name:{width}} {_errors(by_number.get(call.number))}{marks}"
        lines.append(line.rstrip())
    return lines


def marked_calls(judgement: Judgement) -> dict[int, list[str]]:
    """Return by number of a call what differs there first."""
    marks: dict[int, list[str]] = {}
    if judgement.output is not None:
        marks.setdefault(judgement.output.at.pair.a.number, []).append(OUTPUT)
    if judgement.gradient is not None:
        marks.setdefault(judgement.gradient.pair.a.number, []).append(GRADIENT)
    return marks


def short_path(call: Call, calls: Sequence[Call]) -> str:
    """Return the path of a module within the one that calls it."""
    around = next(iter(ancestors(call, calls)), None)
    path = call.path
    if around is not None and around.path and path.startswith(around.path):
        path = path[len(around.path) :].lstrip("./")
    return path or "model"


def _marks(marks: list[str]) -> str:
    return f"  <- {', '.join(marks)}" if marks else ""


def _errors(compared: Compared | None) -> str:
    if compared is None:
        return f"{'-':>8} {'-':>8}"
    back = "-" if compared.gradients is None else f"{compared.gradients:.1e}"
    if compared.pair.other_sizes:
        return f"{'shape':>8} {back:>8} {bar(compared.outputs)}"
    return f"{compared.outputs:8.1e} {back:>8} {bar(compared.outputs)}"


def bar(error: float) -> str:
    """Return a bar of one block for each power of ten above 1e-8."""
    if not error > 1e-8:
        return ""
    return "#" * min(10, max(1, math.ceil(math.log10(min(error, 100.0)) + 8)))


def as_json(result: Result) -> dict[str, Any]:
    """Return the report as plain data."""
    return {
        "version": 1,
        "frameworks": list(result.known.frameworks),
        "matched": result.matched,
        "same": result.same,
        "trains_alike": result.trains_alike,
        "left": {name: list(left) for name, left in result.left.items()},
        "not_tested": [{"level": level, "what": what} for level, what in not_tested(result)],
        "pairs": [_judgement_json(judgement) for judgement in result.judgements],
    }


def _judgement_json(judgement: Judgement) -> dict[str, Any]:
    comparison, output, gradient = judgement.comparison, judgement.output, judgement.gradient
    return {
        "frameworks": [comparison.first, comparison.other],
        "same": judgement.same,
        "trains_alike": judgement.trains_alike,
        "outputs": _number(comparison.outputs),
        "gradients_of_weights": _number(comparison.weights),
        "first_output": output
        and {
            "module": output.at.pair.a.text,
            "counterpart": output.at.pair.b.text,
            "after": output.after.pair.a.text if output.after else None,
            "within": output.within.text if output.within else None,
        },
        "first_gradient": gradient
        and {"module": gradient.pair.a.text, "counterpart": gradient.pair.b.text},
        "differences": [
            {name: getattr(difference, name) for name in Difference.__slots__}
            for difference in judgement.differences
        ],
        "modules": [
            {
                "module": c.pair.a.text,
                "counterpart": c.pair.b.text,
                "kind": c.pair.a.kind,
                "input": _number(c.inputs),
                "output": _number(c.outputs),
                "shapes": [list(call.outputs[0].shape) for call in (c.pair.a, c.pair.b)],
                "gradient": _number(c.gradients),
            }
            for c in comparison.compared
        ],
        "unmatched": {
            comparison.first: _unmatched(
                comparison.ours, {c.pair.a.number for c in comparison.compared}
            ),
            comparison.other: _unmatched(
                comparison.theirs, {c.pair.b.number for c in comparison.compared}
            ),
        },
    }


def _unmatched(calls: Sequence[Call], taken: set[int]) -> list[str]:
    return [call.text for call in calls if call.number not in taken]


def _number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
