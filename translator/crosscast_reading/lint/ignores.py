"""Comments that disable rules: `# crosscast: ignore[CL101]`, `# crosscast: ignore-file`."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from crosscast.messages.diagnostics import Span
from crosscast.messages.source import Source
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.text_edits import lines_of
from crosscast_reading.lint.registry import UNUSED_IGNORE, all_rules, matches, near_rule
from crosscast_reading.lint.result import Result
from crosscast_reading.pysource.syntax.notebook import cells_as_source, is_notebook
from crosscast_reading.sources.files import kind_of

MARK = "crosscast:"
_COMMENT = re.compile(
    r"(?<!#)#+[ \t]*crosscast:[ \t]*(?P<word>ignore-file|ignore)"
    r"(?:[ \t]*\[(?P<codes>[^\]#]*)\]|(?![-\w]|[ \t]*\[))",
    re.IGNORECASE,
)
_HASH = re.compile(r"(?:^|(?<=[\s;|&]))#.*")


@dataclass(slots=True)
class Ignore:
    """One comment. An empty `words` disables every rule."""

    line: int
    start: int
    end: int
    """Columns of the directive in the comment, from 0."""
    words: tuple[str, ...]
    lines: range
    """The lines to which it applies."""
    used: set[str] = field(default_factory=set)
    """Words that disabled a finding; "" for a comment without words."""

    def silences(self, result: Result) -> bool:
        """Whether a finding is disabled; records the word that did. No comment hides a failure."""
        if not result.is_finding or result.span is None or result.span.line not in self.lines:
            return False
        if not self.words:
            self.used.add("")
            return True
        rule = all_rules().get(result.code)
        hit = [word for word in self.words if rule and matches(word, rule)]
        self.used.update(hit)
        return bool(hit)


def find_ignores(source: Source) -> list[Ignore]:
    """Return the comments of a source, from the first line to the last."""
    if MARK not in source.text or source.name.endswith(".json"):
        return []
    text = _shown(source)
    lines = lines_of(text)
    python = kind_of(source) == "python"
    places = _python_comments(text) if python else _other_comments(lines)
    comments = []
    for line, column, first, last in places:
        row = lines[line - 1] if line <= len(lines) else ""
        match = _COMMENT.search(row, column)
        if match is None:
            continue
        listed = match["codes"]
        words = tuple(w.strip() for w in (listed or "").split(",") if w.strip())
        whole = match["word"].lower() == "ignore-file"
        alone = not row[: match.start()].strip()
        span = range(first, last + 1)
        if whole:
            span = range(1, len(lines) + 1)
        elif alone:
            span = range(line, _next_code(lines, line) + 1)
        comments.append(Ignore(line, match.start(), match.end(), words, span))
    return comments


def _shown(source: Source) -> str:
    """Return the text that locations refer to; for a notebook, that of its code cells."""
    if not is_notebook(source.name):
        return source.text

    cells, _ = cells_as_source(source)
    return cells.text if cells is not None else ""


def apply_ignores(
    sources: Sequence[Source], results: Sequence[Result], enabled: frozenset[str]
) -> list[Result]:
    """Return the results that no comment disables, and a finding for every unused comment.

    Args:
        sources: the checked sources.
        results: the results for them.
        enabled: codes of the enabled rules.
    """
    ignores = {file.name: comments for file in sources if (comments := find_ignores(file))}
    if not ignores:
        return list(results)
    kept = []
    for result in results:
        disabled = [ignore.silences(result) for ignore in ignores.get(result.file, ())]
        if not (result.is_finding and any(disabled)):
            kept.append(result)
    if UNUSED_IGNORE in enabled:
        for source in sources:
            lines = lines_of(_shown(source))
            for ignore in ignores.get(source.name, ()):
                kept += _unused(source.name, lines, ignore, enabled)
    return kept


def _unused(
    file: str, lines: Sequence[str], ignore: Ignore, enabled: frozenset[str]
) -> Iterator[Result]:
    """Yield a finding if a comment, or a word of it, is unused."""
    rules = all_rules()
    if not ignore.words:
        useless = [] if ignore.used or enabled < frozenset(rules) else [""]
    else:
        useless = [
            word
            for word in ignore.words
            if word not in ignore.used and _is_known_useless(word, enabled)
        ]
    if not useless:
        return
    text = lines[ignore.line - 1]
    named = ", ".join(useless)
    unknown = next((word for word in useless if word and not _selected(word)), "")
    rule = rules[UNUSED_IGNORE]
    yield Result(
        code=rule.code,
        name=rule.name,
        severity=rule.severity,
        message=f"nothing here is silenced by {named}" if named else "nothing here is silenced",
        span=Span(file, ignore.line, ignore.start + 1, ignore.end + 1, text),
        hint=f"no rule {unknown!r}: {near_rule(unknown)}" if unknown else "remove it",
        edits=(_removal(file, lines, ignore, [w for w in ignore.words if w not in useless]),),
    )


def _is_known_useless(word: str, enabled: frozenset[str]) -> bool:
    return _selected(word) <= enabled


def _selected(word: str) -> set[str]:
    return {code for code, rule in all_rules().items() if matches(word, rule)}


def _removal(file: str, lines: Sequence[str], ignore: Ignore, left: Sequence[str]) -> Edit:
    """Return the edit that removes a comment or its unused words."""
    text = lines[ignore.line - 1]
    start, end, new, last = ignore.start, ignore.end, "", ignore.line
    if left:
        directive = text[start:end]
        new = f"{directive[: directive.index('[') + 1]}{', '.join(left)}]"
    elif not text[end:].strip() and not text[:start].strip() and ignore.line < len(lines):
        start, end, last = 0, 0, ignore.line + 1  # the whole line
    else:
        start = len(text[:start].rstrip())
    return Edit(
        file=file,
        line=ignore.line,
        column=start + 1,
        end_line=last,
        end_column=end + 1,
        text=new,
    )


def _next_code(lines: Sequence[str], line: int) -> int:
    """Return the number of the first line after a comment that is not blank or comment."""
    for number in range(line + 1, len(lines) + 1):
        text = lines[number - 1].strip()
        if text and not text.startswith("#"):
            return number
    return line


def _python_comments(text: str) -> Iterator[tuple[int, int, int, int]]:
    """Yield line and column of comments with the first and last line of their statement."""
    pending: list[tuple[int, int]] = []
    first = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            line, column = token.start
            if token.type == tokenize.COMMENT and MARK in token.string:
                if first:
                    pending.append((line, column))
                else:
                    yield line, column, line, line
            elif token.type == tokenize.NEWLINE:
                yield from ((ignore, at, first or ignore, line) for ignore, at in pending)
                pending, first = [], 0
            elif not first and token.type not in _LAYOUT:
                first = line
    except (tokenize.TokenError, SyntaxError):  # keep the comments found so far
        yield from ((ignore, at, ignore, ignore) for ignore, at in pending)


_LAYOUT = (tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT, tokenize.ENDMARKER)


def _other_comments(lines: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    for number, text in enumerate(lines, 1):
        if MARK in text and (match := _HASH.search(text)):
            first = number
            while first > 1 and lines[first - 2].rstrip().endswith("\\"):
                first -= 1
            yield number, match.start(), first, number
