"""A comparison of modules as cards and sections of the page, alone or with that of training."""

from __future__ import annotations

from collections.abc import Sequence

from crosscast_parity.modules.calls import Call, ancestors
from crosscast_parity.modules.command import Result
from crosscast_parity.modules.comparison import Compared
from crosscast_parity.modules.judgement import Judgement
from crosscast_parity.modules.report import (
    GRADIENT,
    bar,
    marked_calls,
    not_tested,
    short_path,
    summary,
)
from crosscast_parity.report.page.blocks import Block, Cell, Items, Section, Table, Text, Tone
from crosscast_parity.report.page.render import render_view
from crosscast_parity.report.page.summary import Card

HEAD = ("module", "class", "output", "", "gradient", "shape", "counterpart")
NOTE = (
    "Relative differences of outputs and of gradients, module by module, in the order of the first "
    "framework; a block of the bar is a power of ten above 1e-8. Without a number: no counterpart "
    "was found, or nothing that can be compared."
)

DIFFERENT: tuple[str, Tone] = ("DIFFERENT", "bad")


def render_models(result: Result, recipe: str) -> str:
    """Return the page of models that differ and were not trained."""
    frameworks = ", ".join(result.known.frameworks)
    return render_view(
        title=f"Parity of {recipe}",
        headline=DIFFERENT,
        facts=[("models", frameworks), ("training", "not tested, because the models differ")],
        cards=module_cards(result),
        sections=[*module_sections(result), *_untested(result)],
    )[0]


def module_cards(result: Result | None) -> list[Card]:
    """Return the verdicts on models that differ, and on weights without a counterpart."""
    if result is None:
        return []
    cards = []
    for judgement in result.judgements:
        if not judgement.same:
            alike = judgement.trains_alike
            cards.append(
                _card(
                    _name(judgement),
                    ("SAME IN TRAINING", "doubt") if alike else DIFFERENT,
                    summary(judgement),
                )
            )
    for framework, left in result.left.items():
        if left:
            words = f"weights without counterpart: {', '.join(left)}"
            cards.append(_card(f"Weights of {framework}", DIFFERENT, [words]))
    return cards


def _card(name: str, headline: tuple[str, Tone], lines: Sequence[str]) -> Card:
    verdict, tone = headline
    first, *others = [line.strip() for line in lines]
    blocks: list[Block] = [Items(items=others)] if others else []
    return Card(name=name, verdict=verdict, tone=tone, wording=first, blocks=blocks)


def _name(judgement: Judgement) -> str:
    return f"Models of {judgement.comparison.first} and {judgement.comparison.other}"


def module_sections(result: Result | None) -> list[Section]:
    """Return a section for every two frameworks, with all modules and the error along them."""
    judgements = [] if result is None else result.judgements
    return [
        Section(
            key=f"modules-{number}",
            title=f"Modules: {judgement.comparison.first} and {judgement.comparison.other}",
            blocks=[_table(judgement)],
        )
        for number, judgement in enumerate(judgements, 1)
    ]


def _untested(result: Result) -> list[Section]:
    blocks = [Text(text=words) for _, words in not_tested(result)]
    return [Section(key="not-tested", title="What was not tested", blocks=blocks)]


def _table(judgement: Judgement) -> Table:
    comparison = judgement.comparison
    by_number = {compared.pair.a.number: compared for compared in comparison.compared}
    marks = marked_calls(judgement)
    calls = sorted(comparison.ours, key=lambda call: call.number)
    rows = [_row(call, comparison.ours, by_number.get(call.number), marks) for call in calls]
    same = "no difference of outputs" if judgement.output is None else "first difference is marked"
    return Table(title=f"{len(rows)} modules, {same}", head=HEAD, rows=rows, note=NOTE)


def _row(
    call: Call, calls: Sequence[Call], compared: Compared | None, marks: dict[int, list[str]]
) -> list[Cell]:
    indent = "\u00a0\u00a0" * len(ancestors(call, calls))
    texts = marks.get(call.number, [])
    mark = "".join(f" ← {text}" for text in texts)
    tone: Tone = "bad" if texts else ""
    forward: Tone = "bad" if [text for text in texts if text != GRADIENT] else ""
    backward: Tone = "bad" if GRADIENT in texts else ""
    path = Cell(text=f"{indent}{short_path(call, calls)}{mark}", tone=tone, code=True)
    kind = Cell(text=call.kind)
    if compared is None:
        return [path, kind, *(Cell(text="") for _ in HEAD[2:])]
    shapes = [str(list(side.outputs[0].shape)) for side in (compared.pair.a, compared.pair.b)]
    other = compared.pair.other_sizes
    back = "" if compared.gradients is None else f"{compared.gradients:.1e}"
    return [
        path,
        kind,
        Cell(text="another shape" if other else f"{compared.outputs:.1e}", tone=forward),
        Cell(text=bar(compared.outputs).replace("#", "█"), tone=forward),
        Cell(text=back, tone=backward),
        Cell(text=" / ".join(shapes) if other else shapes[0]),
        Cell(text=compared.pair.b.text, code=True),
    ]
