"""Assemble the sections of the page and render the HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from crosscast.emit.render import template_root
from crosscast.messages.terminal import escaped_in_page
from crosscast_parity.judge.records import Pair, ParityReport
from crosscast_parity.report.figures.style import Plot
from crosscast_parity.report.page.blocks import VERDICT_TONES, Block, Figure, Section, Text, Tone
from crosscast_parity.report.page.coverage import (
    bisection_table,
    command_blocks,
    exercise_blocks,
    limits_blocks,
    self_test_table,
)
from crosscast_parity.report.page.evidence import (
    all_checks_table,
    difference_table,
    failed_table,
    worst_table,
)
from crosscast_parity.report.page.figures import bisection_plots, drawn_stages, stage_plots
from crosscast_parity.report.page.run_tables import (
    crash_blocks,
    environment_table,
    run_table,
    stage_table,
)
from crosscast_parity.report.page.seed_section import seed_blocks
from crosscast_parity.report.page.summary import (
    Card,
    alone_card,
    facts,
    headline,
    level_table,
    pair_name,
)
from crosscast_parity.report.page.tensors import first_differing_tensor, tensor_table

TEMPLATE = "parity/page.html.j2"


def render_page(
    report: ParityReport, cards: Sequence[Card] = (), sections: Sequence[Section] = ()
) -> tuple[str, list[Plot]]:
    """Return the page and its figures, which also become files.

    Args:
        report: What was found.
        cards: More verdicts, before those of the report.
        sections: More sections, before those of the report.
    """
    own = [_card(report, pair) for pair in report.pairs] or [alone_card(report)]
    return render_view(
        title=f"Parity of {report.recipe}",
        headline=headline(report),
        facts=facts(report),
        cards=[*cards, *own],
        sections=[*sections, *page_sections(report)],
    )


def render_view(
    *,
    title: str,
    headline: tuple[str, Tone],
    facts: Sequence[tuple[str, str]],
    cards: Sequence[Card],
    sections: Sequence[Section],
) -> tuple[str, list[Plot]]:
    """Return a page and its figures.

    All text is escaped; only the figures are not, which were made here from numbers.
    """
    environment = Environment(
        loader=FileSystemLoader(template_root()),
        undefined=StrictUndefined,
        autoescape=True,
        finalize=escaped_in_page,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    word, tone = headline
    view: dict[str, Any] = {
        "title": title,
        "headline": word,
        "tone": tone,
        "facts": facts,
        "cards": cards,
        "sections": sections,
    }
    blocks = (block for section in sections for block in section.blocks)
    plots = [block.plot for block in blocks if isinstance(block, Figure)]
    return environment.get_template(TEMPLATE).render(page=view), plots


def _card(report: ParityReport, pair: Pair) -> Card:
    recipes = {
        e.name: e.recipe for e in report.entrants if e.name in (pair.contestant, pair.reference)
    }
    blocks: list[Block] = []
    if len(set(recipes.values())) > 1:
        words = " and ".join(f"{name} follows {recipe}" for name, recipe in recipes.items())
        blocks.append(Text(text=f"These programs follow different recipes: {words}."))
    if pair.verdict != "EQUIVALENT":
        tensor = first_differing_tensor(pair)
        tables = (failed_table(pair.checks), difference_table(pair))
        blocks += [Text(text=tensor)] if tensor else []
        blocks += [table for table in tables if table]
    return Card(
        name=pair_name(pair),
        verdict=pair.verdict,
        tone=VERDICT_TONES[pair.verdict],
        wording=pair.wording,
        blocks=blocks,
    )


def page_sections(report: ParityReport) -> list[Section]:
    """Return the sections that have something to show."""
    sections = [
        Section(key="self-test", title="Self-test", blocks=_self_test(report)),
        Section(key="levels", title="Overview of the levels", blocks=_levels(report)),
        Section(key="crashes", title="Failed runs", blocks=crash_blocks(report)),
        Section(key="cause", title="Cause", blocks=_cause(report)),
        *_stages(report),
        Section(key="seeds", title="Results over seeds", blocks=seed_blocks(report)),
        Section(key="checks", title="Checks", blocks=_checks(report)),
        Section(key="exercise", title="Exercised fields", blocks=exercise_blocks(report)),
        Section(key="environment", title="Environment", blocks=_environment(report)),
        Section(key="not-tested", title="What was not tested", blocks=limits_blocks(report)),
    ]
    return [section for section in sections if section.blocks]


def _self_test(report: ParityReport) -> list[Block]:
    return [self_test_table(report)] if report.self_test else []


def _levels(report: ParityReport) -> list[Block]:
    table = level_table(report)
    return [table] if table.rows else []


def _stages(report: ParityReport) -> Iterable[Section]:
    drawn, others = drawn_stages(report)
    for number, stage in enumerate(drawn):
        blocks: list[Block] = [Figure(plot=plot) for plot in stage_plots(report, stage)]
        if others and number == len(drawn) - 1:
            blocks.append(Text(text=_not_drawn([other.name for other in others]), tone="soft"))
        yield Section(
            key=f"stage-{number + 1}", title=f"Stage {stage.name}: {stage.title}", blocks=blocks
        )


def _not_drawn(names: Sequence[str]) -> str:
    return f"Not drawn, because everything passed in stages alike: {', '.join(names)}."


def _cause(report: ParityReport) -> list[Block]:
    blocks: list[Block] = [
        Text(text=f"{b.contestant} against {b.reference}: {b.wording}") for b in report.bisections
    ]
    blocks += [Figure(plot=plot) for plot in bisection_plots(report.bisections)]
    return blocks + [bisection_table(b) for b in report.bisections if b.steps]


def _checks(report: ParityReport) -> list[Block]:
    blocks: list[Block] = []
    for pair in report.pairs:
        if pair.checks:
            name = pair_name(pair)
            blocks.append(worst_table(name, pair.checks))
            tensors = tensor_table(pair)
            blocks += [tensors] if tensors else []
            blocks.append(all_checks_table(f"All {len(pair.checks)} checks of {name}", pair.checks))
    compared = {pair.contestant for pair in report.pairs}
    for entrant in report.entrants:
        if entrant.checks and entrant.name not in compared:
            blocks.append(worst_table(f"{entrant.name} on its own", entrant.checks))
    return blocks


def _environment(report: ParityReport) -> list[Block]:
    tables = (environment_table(report), stage_table(report), run_table(report))
    return [*command_blocks(report), *(table for table in tables if table.rows)]
