"""Diagnostics: messages to the user with a code, a location and a hint."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from crosscast.messages import chinese
from crosscast.messages.cells import cells
from crosscast.messages.language import WORDINGS, Language

if TYPE_CHECKING:
    from crosscast.messages.code import Exit


class Severity(StrEnum):
    """Severity of a diagnostic: errors stop the command, warnings and notes do not."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Span:
    """A location in a user's file. Lines and columns count from 1; `end_column` is exclusive."""

    file: str
    line: int
    column: int
    end_column: int | None = None
    text: str = ""
    """The whole source line, without its line ending, for underlining."""

    def __str__(self) -> str:
        name = self.file.replace("\n", "\\n")  # else its rest may pass for a line of ours
        return f"{name}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One message. `code` is stable (see `crosscast.messages.codes`), the wording is not."""

    code: str
    message: str
    severity: Severity = Severity.ERROR
    path: str = ""
    """Dotted path into the recipe, such as `optimizer.eps`; empty for a whole file."""
    span: Span | None = None
    hint: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the record as plain data for `--json`."""
        return asdict(self)


class DiagnosticError(Exception):
    """Raised when a pass cannot continue; contains all diagnostics found so far.

    `str()` is what the command line prints: location, code, message, source line and hint.
    """

    diagnostics: tuple[Diagnostic, ...]
    """What went wrong, and what was noticed before; at least one of them is an error."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__(*diagnostics)
        self.diagnostics = diagnostics

    @property
    def exit_code(self) -> Exit:
        """What a command would end with."""
        from crosscast.messages.console import exit_code

        return exit_code(self.diagnostics)

    def __str__(self) -> str:
        return render(self.diagnostics)


def failure(code: str, message: str, hint: str = "") -> DiagnosticError:
    """Return the error of one diagnostic."""
    return DiagnosticError(Diagnostic(code=code, message=message, hint=hint))


def os_failure(error: OSError) -> DiagnosticError:
    """Return an error of the system, such as a name that is too long or a full disk: CC504."""
    where = f"{error.filename}: " if error.filename else ""
    return failure("CC504", f"{where}{error.strerror or error}")


def refuse_null(texts: Iterable[object]) -> None:
    """Refuse names with a null character, which no system call takes; what is no name passes.

    Raises:
        DiagnosticError: CC504.
    """
    for text in texts:
        if isinstance(text, str | PurePath) and "\0" in str(text):
            raise failure("CC504", f"{str(text)!r} contains a null character")


@dataclass(slots=True)
class Collector:
    """Collects diagnostics during a pass so that the user sees all of them at once."""

    diagnostics: list[Diagnostic] = field(default_factory=list)

    def add(self, diagnostic: Diagnostic) -> None:
        """Add a diagnostic."""
        self.diagnostics.append(diagnostic)

    @property
    def errors(self) -> list[Diagnostic]:
        """The diagnostics that stop the command."""
        return [d for d in self.diagnostics if d.severity is Severity.ERROR]

    def raise_errors(self) -> None:
        """Raise `DiagnosticError` with all diagnostics if any of them is an error."""
        if self.errors:
            raise DiagnosticError(*self.diagnostics)


def sort_key(diagnostic: Diagnostic) -> tuple[str, int, int, str]:
    """Order diagnostics by file, then location, then code."""
    span = diagnostic.span
    if span is None:
        return ("", 0, 0, diagnostic.code)
    return (span.file, span.line, span.column, diagnostic.code)


def render(diagnostics: Iterable[Diagnostic], language: Language = "en") -> str:
    """Return the plain-text form: location, code, message, underlined source line, hint.

    In Chinese the title follows the code, and the help of a code stands below its first message,
    because the message itself is English.
    """
    explained: set[str] = set()
    ordered = sorted(diagnostics, key=sort_key)
    return "\n".join(render_one(diagnostic, language, explained) for diagnostic in ordered)


def render_one(diagnostic: Diagnostic, language: Language, explained: set[str]) -> str:
    """Return one diagnostic; `explained` has the codes whose help was shown, and gets its own."""
    words = WORDINGS[language]
    translated = chinese.entry(diagnostic.code) if language == "zh" else None
    place = f"{diagnostic.span}: " if diagnostic.span else ""
    path = f"{diagnostic.path}: " if diagnostic.path else ""
    code = f"{words.severities[diagnostic.severity]} {diagnostic.code}"
    title = f" [{translated['title']}]" if translated else ""
    lines = [printable(place) + _quoted(f"{code}{title}: {path}{diagnostic.message}")]
    if diagnostic.span and diagnostic.span.text:
        lines += _underline(diagnostic.span)
    if diagnostic.hint:
        hint = chinese.hint(diagnostic.hint) if language == "zh" else diagnostic.hint
        lines.append(_quoted(f"  {words.hint}: {hint}"))
    if translated and diagnostic.code not in explained:
        explained.add(diagnostic.code)
        lines.append(f"  {words.help}: {translated['help']}")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    """Return a printable text; a line of a name or an error cannot pass for a message."""
    return printable(text, keep="\n").replace("\n", "\n    ")


def printable(text: str, keep: str = "") -> str:
    """Return a text without control characters: messages quote names of untrusted files.

    A tab becomes one space, as columns count it.
    """
    text = text.replace("\t", " ")
    return "".join(c if c.isprintable() or c in keep else "\N{REPLACEMENT CHARACTER}" for c in text)


def _underline(span: Span, width: int = 160) -> Sequence[str]:
    text = printable(span.text)
    start = span.column - 1
    end = max(start + 1, min(span.end_column - 1 if span.end_column else start + 1, len(text)))
    if len(text) > width:  # keep the marked part in view on very long lines
        cut = max(0, start - width // 2)
        text, start, end = text[cut : cut + width], start - cut, min(end - cut, width)
    before, marked = cells(text[:start]), cells(text[start:end])
    before += max(0, start - len(text))
    return (f"    {text}", f"    {' ' * before}{'^' * max(1, marked)}")
