"""Documentation of the rules in the terminal: one as a page, all as a table."""

from __future__ import annotations

from collections.abc import Iterable

from crosscast.messages import chinese
from crosscast.messages.cells import wrapped
from crosscast.messages.language import WORDINGS, Language
from crosscast_reading.lint.rule import Rule


def explain(rule: Rule, language: Language = "en") -> str:
    """Return the page of one rule as plain text."""
    from textwrap import indent

    words = WORDINGS[language]
    title, why = _words(rule, language)
    lines = [f"{rule.code} {rule.name} ({rule.severity}, {rule.topic})", "", title, ""]
    lines += paragraphs(why)
    for name, text in rule.beside:
        lines += ["", f"Next to {name}:", "", indent(text.rstrip("\n"), "    ")]
    lines += ["", f"{words.wrong}:", "", indent(rule.wrong.rstrip("\n"), "    ")]
    lines += ["", f"{words.right}:", "", indent(rule.right.rstrip("\n"), "    ")]
    if rule.fixable:
        lines += ["", words.fixable]
    if rule.sources:
        lines += ["", f"{words.sources}: {'; '.join(rule.sources)}"]
    lines += ["", f"{words.ignore}: # crosscast: ignore[{rule.code}]"]
    return "\n".join(lines) + "\n"


def _words(rule: Rule, language: Language) -> tuple[str, str]:
    """Return the title of a rule and its effect."""
    translation = chinese.entry(rule.code) if language == "zh" else None
    return (translation["title"], translation["help"]) if translation else (rule.title, rule.why)


def rows(
    rules: Iterable[Rule], language: Language = "en"
) -> list[tuple[str, str, str, str, str, str]]:
    """Return the table of rules: code, name, topic, severity, whether --fix applies, title."""
    return [
        (
            rule.code,
            rule.name,
            rule.topic,
            str(rule.severity),
            "yes" if rule.fixable else "",
            _words(rule, language)[0],
        )
        for rule in rules
    ]


def paragraphs(text: str) -> list[str]:
    """Return the wrapped lines of the paragraphs of a text."""
    lines: list[str] = []
    for paragraph in text.strip().split("\n\n"):
        lines += ["", *wrapped(" ".join(paragraph.split()), 98)]
    return lines[1:]
