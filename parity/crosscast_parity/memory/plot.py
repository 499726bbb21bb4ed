"""The plot of `crosscast plan`, as a PNG file or as one self-contained HTML file."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from crosscast.emit.render import template_root
from crosscast.fit.memory_sizes import show_bytes
from crosscast.fit.outcome_tables import (
    ANSWERS,
    SHOWN,
    answer_rows,
    component_sizes,
    component_table,
    named,
    precision_name,
)
from crosscast.fit.solver import Outcome, Variant
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.messages.terminal import escaped_in_page
from crosscast_parity.report.figures.memory import Bar, memory_plot
from crosscast_parity.report.figures.style import Plot

TEMPLATE = "parity/memory.html.j2"


def write_plot(outcomes: Sequence[Outcome], recipe: str, path: Path, *, force: bool) -> None:
    """Draw the answers of all targets and write the file, whole or not at all.

    Raises:
        DiagnosticError: CC501 if the file is there already and `force` is not given, CC502 if the
            system refuses.
    """
    if path.exists() and not force:
        message = f"{path} is there already"
        hint = "choose another name, or use --force"
        raise DiagnosticError(Diagnostic(code="CC501", message=message, hint=hint))
    plot = draw(outcomes, recipe)
    html = path.suffix.lower() == ".html"
    data = page(outcomes, recipe, plot).encode() if html else plot.png()
    staged = path.with_name(f".{path.name}.crosscast")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        staged.write_bytes(data)
        staged.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            staged.unlink()
        message = f"{path}: {error.strerror or error}"
        raise DiagnosticError(Diagnostic(code="CC502", message=message)) from None


def draw(outcomes: Sequence[Outcome], recipe: str) -> Plot:
    """Return the figure."""
    groups: dict[str, list[Bar]] = {}
    for outcome in outcomes:
        title = outcome.target + ("" if outcome.answers else ": does not fit")
        ways = list(named(outcome).items())[: SHOWN + 1]
        groups[title] = [_bar(name, variant) for name, variant in ways]
    return memory_plot(groups, outcomes[0].limit, title=f"Memory of {recipe} by component")


def _bar(name: str, variant: Variant) -> Bar:
    candidate = variant.candidate
    recomputes = ", ckpt" if candidate.checkpointing else ""
    split = f"{candidate.micro_batch_size} x {candidate.steps}"
    return Bar(
        label=f"{name}: {split}, {precision_name(candidate)}{recomputes}",
        parts=component_sizes(variant.estimate),
        margin=variant.estimate.margin_bytes,
    )


def page(outcomes: Sequence[Outcome], recipe: str, plot: Plot) -> str:
    """Return the page. All text is escaped; only the figure is not, which was made from numbers."""
    environment = Environment(
        loader=FileSystemLoader(template_root()),
        undefined=StrictUndefined,
        autoescape=True,
        finalize=escaped_in_page,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    view = {
        "recipe": recipe,
        "limit": show_bytes(outcomes[0].limit),
        "plot": plot,
        "targets": [
            {
                "name": outcome.target,
                "head": ANSWERS,
                "rows": answer_rows(outcome),
                "parts": component_table(outcome),
            }
            for outcome in outcomes
        ],
    }
    return environment.get_template(TEMPLATE).render(page=view)
