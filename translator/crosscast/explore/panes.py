"""The columns of a page: sources and emitted scripts as numbered lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import zip_longest

from markupsafe import Markup

from crosscast.explore.dark_lines import FILE, dark_lines
from crosscast.explore.highlighting import ColouredLine, highlighted
from crosscast.explore.script_lines import Place
from crosscast.explore.subject import Script, Side
from crosscast.targets.backend import window
from crosscast.targets.capability import Verdict

_VERSION = re.compile(r"(?<!\s)\s+\(?\d")
"""Where the name of a framework ends in a title such as `PyTorch 2.4 or newer`."""
_ARROW = " \N{RIGHTWARDS ARROW} "
_RUNTIME = "runtime/"
"""Folder of files whose text depends on the target alone."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A line of a file."""

    key: int
    """Its number within the pane, which the data of the page uses."""
    number: int
    indent: str
    html: Markup
    change: str = ""
    """`changed`: the other side has another line here. `only`: it has none."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of one script, or of two side by side."""

    path: str
    rows: tuple[tuple[Cell | None, ...], ...]


@dataclass(slots=True)
class Pane:
    """A column of the page."""

    key: str
    title: str
    about: str
    sides: tuple[str, ...] = ("",)
    """What its two halves are, if it compares."""
    files: list[File] = field(default_factory=list)
    counts: tuple[tuple[str, str], ...] = ()
    """Words about its verdicts, each with its verdict."""
    problems: tuple[str, ...] = ()
    left_out: str = ""
    scripts: tuple[Script, ...] = ()
    keys: dict[tuple[int, Place], int] = field(default_factory=dict)
    """Half and place to the key of a line."""
    dark: dict[int, str] = field(default_factory=dict)

    def lines(self, half: int, places: Iterable[Place]) -> list[int]:
        """Return the keys of lines, in order; places that are not shown are left out."""
        keys = (self.keys.get((half, place)) for place in places)
        return sorted(key for key in keys if key is not None)


def source_pane(sides: Sequence[Side]) -> Pane | None:
    """Return the column of the scripts that recipes were read from; None if there is none."""
    sources = {source.name: source.text for side in sides for source in side.sources}
    if not sources:
        return None
    pane = Pane("source", "Source", "what the recipe was read from")
    pane.files = [_file(pane, name, [text]) for name, text in sources.items()]
    return pane


def script_panes(scripts: Sequence[Script], sides: Sequence[Side]) -> list[Pane]:
    """Return one column for each target; two scripts to compare share a column."""
    panes = [_pane(group, sides) for group in _grouped(scripts, len(sides))]
    titles = Counter(pane.title for pane in panes)
    for pane in panes:
        if titles[pane.title] > 1:
            pane.title = pane.scripts[0].target.name
    return panes


def _grouped(scripts: Sequence[Script], sides: int) -> list[tuple[Script, ...]]:
    if sides > 1:
        count = len(scripts) // sides
        return [tuple(scripts[n::count]) for n in range(count)]
    backends = {script.target.backend.name for script in scripts}
    if len(scripts) == 2 and len(backends) == 1:
        return [tuple(scripts)]
    return [(script,) for script in scripts]


def _pane(scripts: tuple[Script, ...], sides: Sequence[Side]) -> Pane:
    first = scripts[0]
    dialects = [script.target.dialect.title or script.target.name for script in scripts]
    one = len(set(dialects)) == 1
    pane = Pane(
        key=first.target.folder if one else first.target.backend.name,
        title=_VERSION.split(first.target.backend.title)[0],
        about=dialects[0] if one else " and ".join(dialects),
        scripts=scripts,
    )
    if len(scripts) > 1:
        pane.sides = tuple(sides[s.side].name if one else s.target.name for s in scripts)
    pane.problems = tuple(
        f"{refusal.path}: {refusal.message}" if refusal.path else refusal.message
        for script in scripts
        for refusal in script.refusals
    )
    if not one:
        pane.about = ", ".join(f"{s.target.name}: {window(s.target.dialect)}" for s in scripts)
    pane.counts = tuple(_counts(scripts))
    texts = [_texts(script, sides[script.side]) for script in scripts]
    names = list(dict.fromkeys(name for own in texts for name in own))
    shown = [name for name in names if _is_shown(name, scripts)]
    hidden = len(names) - len(shown)
    if hidden:
        pane.left_out = f"{hidden} more files in {_RUNTIME}, the same for every recipe"
    pane.files = [_file(pane, name, [own.get(name, "") for own in texts]) for name in shown]
    for half, script in enumerate(scripts):
        for number, why in dark_lines(texts[half].get(FILE, ""), script.lines).items():
            for key in pane.lines(half, [(FILE, number)]):
                pane.dark[key] = why
    return pane


def _counts(scripts: Sequence[Script]) -> Iterator[tuple[str, str]]:
    """Yield how many fields have a verdict, in words, with the verdict."""
    counted = [Counter(each.row.verdict for each in s.judgements.values()) for s in scripts]
    for verdict in Verdict:
        numbers = dict.fromkeys(str(counts[verdict]) for counts in counted)
        if any(counts[verdict] for counts in counted):
            yield f"{_ARROW.join(numbers)} {verdict}", str(verdict)


def _texts(script: Script, side: Side) -> Mapping[str, str]:
    if script.compiled is None:
        return {}
    files = {name: file.text for name, file in script.compiled.files.items()}
    files |= side.beside.get(script.target.folder, {})
    names = sorted(files, key=lambda name: (name != FILE, not name.endswith(".py"), name))
    return {name: files[name] for name in names}


def _is_shown(name: str, scripts: Sequence[Script]) -> bool:
    """Whether a file depends on the recipe."""
    fields = (lines for script in scripts for lines in script.lines.fields.values())
    places = (place for lines in fields for place in lines.own | lines.related)
    return not name.startswith(_RUNTIME) or any(file == name for file, _ in places)


def _file(pane: Pane, path: str, texts: Sequence[str]) -> File:
    written = [_lines(text, path) for text in texts]
    rows = []
    for numbers in _aligned(texts) if len(texts) > 1 else ((n,) for n in range(len(written[0]))):
        cells: list[Cell | None] = []
        for half, number in enumerate(numbers):
            if number is None:
                cells.append(None)
                continue
            key = len(pane.keys)
            pane.keys[half, (path, number + 1)] = key
            change = _change(numbers, texts) if len(texts) > 1 else ""
            line = written[half][number]
            cells.append(Cell(key, number + 1, line.indent, line.html, change))
        rows.append(tuple(cells))
    return File(path, tuple(rows))


def _lines(text: str, path: str) -> list[ColouredLine]:
    coloured = highlighted(text, path)
    return coloured if coloured[-1].html else coloured[:-1]


def _split(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if not lines[-1] else lines


def _change(numbers: tuple[int | None, ...], texts: Sequence[str]) -> str:
    if None in numbers:
        return "only"
    left, right = (_split(text)[n] for text, n in zip(texts, numbers, strict=True) if n is not None)
    return "changed" if left != right else ""


def _aligned(texts: Sequence[str]) -> Iterator[tuple[int | None, ...]]:
    """Yield the numbers of the lines of two texts that stand side by side, counted from 0."""
    left, right = map(_split, texts)
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    for _, start, end, other, last in matcher.get_opcodes():
        yield from zip_longest(range(start, end), range(other, last))
