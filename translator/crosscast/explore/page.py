"""The page of the explorer as HTML: one file without any other resource."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from crosscast import __version__
from crosscast.emit.render import template_root
from crosscast.explore.page_data import PaneRow, embedded, page_data, rows_of
from crosscast.explore.panes import Pane, script_panes, source_pane
from crosscast.explore.subject import Script, Side, scripts_of
from crosscast.messages.diagnostics import Diagnostic, render
from crosscast.messages.terminal import escaped_in_page

TEMPLATE = "explore/page.html.j2"
STYLE = "explore/page.css"
SCRIPT = "explore/page.js"
MADE = "<!-- Written by crosscast explore -->\n"
"""How a page begins."""
_MANY = 12
"""Number of lines that a cell of the table names."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of the table of all fields."""

    verdict: str
    symbol: str
    lines: str


@dataclass(frozen=True, slots=True)
class PageView:
    """What the template sees."""

    title: str
    kind: str
    """What is shown, in a sentence."""
    version: str
    home: str
    """Address of a page with others like it; empty if there is none."""
    sides: tuple[str, ...]
    sections: tuple[tuple[str, tuple[PaneRow, ...]], ...]
    operations: tuple[tuple[str, str], ...]
    """Identifier and name of the operations of the training step."""
    panes: tuple[Pane, ...]
    targets: tuple[str, ...]
    table: tuple[tuple[PaneRow, tuple[Cell, ...]], ...]
    notes: tuple[str, ...]
    compares: bool
    data: Markup
    style: Markup
    script: Markup
    policy: str


@dataclass(frozen=True, slots=True)
class Page:
    """A page, and why some targets have no script."""

    text: str
    refusals: tuple[Diagnostic, ...]


def explorer_page(sides: Sequence[Side], targets: Sequence[str], *, home: str = "") -> Page:
    """Return the page of one or two recipes.

    Args:
        sides: the recipes; two are compared.
        targets: names of targets, see `crosscast.targets.backend.find_target`. Two dialects of one
            framework are compared if there is one recipe.
        home: address that the page links to, of a page with others like it.

    Raises:
        DiagnosticError: No target can express a recipe.
    """
    scripts = scripts_of(sides, targets)
    text = _environment().get_template(TEMPLATE).render(page=page_view(sides, scripts, home))
    return Page(f"{MADE}{text}", tuple(d for script in scripts for d in script.refusals))


def page_view(sides: Sequence[Side], scripts: Sequence[Script], home: str = "") -> PageView:
    """Return the view for the template."""
    panes = script_panes(scripts, sides)
    source = source_pane(sides)
    rows = rows_of(sides, panes)
    data = page_data(rows, sides, panes, source)
    columns = (*([source] if source is not None else []), *panes)
    keys = {key["id"]: key for key in data["keys"]}
    style, script = _own(STYLE), _own(SCRIPT)
    names = list(dict.fromkeys(side.recipe.name for side in sides))
    compares = any(len(pane.sides) > 1 for pane in panes)
    return PageView(
        title=" and ".join(names),
        kind=_kind(sides, panes),
        version=__version__,
        home=home,
        sides=tuple(side.name for side in sides),
        sections=tuple(
            (name, tuple(group))
            for name, group in groupby(rows, key=lambda row: row.path.partition(".")[0])
        ),
        operations=tuple(
            (key["id"], key["id"].removeprefix("step:").replace("_", " "))
            for key in data["keys"]
            if key["kind"] == "operation"
        ),
        panes=columns,
        targets=tuple(pane.title for pane in panes),
        table=tuple((row, tuple(_cells(row, keys, columns))) for row in rows),
        notes=tuple(render([note]) for side in sides for note in side.notes),
        compares=compares,
        data=Markup(embedded(data)),
        style=style,
        script=script,
        policy="; ".join(
            (
                "default-src 'none'",
                f"script-src {_hash(script)}",
                f"style-src {_hash(style)}",
                "img-src data:",
                "base-uri 'none'",
                "form-action 'none'",
            )
        ),
    )


def _kind(sides: Sequence[Side], panes: Sequence[Pane]) -> str:
    if len(sides) > 1:
        return f"{sides[0].name} and {sides[1].name}, side by side"
    if len(panes) == 1 and len(panes[0].sides) > 1:
        return f"{sides[0].name} for {panes[0].sides[0]} and {panes[0].sides[1]}, side by side"
    read = "read from a script" if sides[0].sources else "a recipe"
    return f"{sides[0].name}, {read}, and the scripts that crosscast emits for it"


def _cells(
    row: PaneRow, keys: Mapping[str, Mapping[str, Any]], columns: Sequence[Pane]
) -> list[Cell]:
    """Return the cells of a field: the verdict of each target, and the lines that carry it."""
    marks = {mark.target: mark for mark in row.marks}
    cells = []
    for pane, lines in zip(columns, keys[row.path]["panes"], strict=True):
        if not pane.scripts:
            continue
        mark = marks.get(pane.title)
        places = {key: place for place, key in pane.keys.items()}
        own = [places[key][1] for key in lines["own"] or lines["rel"]]
        text = ", ".join(f"{file}:{line}" for file, line in dict.fromkeys(own[:_MANY]))
        more = f" and {len(own) - _MANY} more" if len(own) > _MANY else ""
        verdict, symbol = (mark.verdict, mark.symbol) if mark is not None else ("", "")
        cells.append(Cell(verdict, symbol, text + more or "-"))
    return cells


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(template_root()),
        undefined=StrictUndefined,
        autoescape=True,
        finalize=escaped_in_page,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _own(name: str) -> Markup:
    """Return a file of crosscast that becomes a part of the page as it is."""
    return Markup((template_root() / name).read_text(encoding="utf-8"))


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
