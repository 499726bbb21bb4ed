"""Documentation of the rules in the terminal: one as a page, all as a table."""

from __future__ import annotations

from collections.abc import Iterable

from crosscast.lint.rule import Rule


def explain(rule: Rule) -> str:
    """Return the page of one rule as plain text."""
    from textwrap import indent

    lines = [f"{rule.code} {rule.name} ({rule.severity}, {rule.topic})", "", rule.title, ""]
    lines += wrapped(rule.why)
    for name, text in rule.beside:
        lines += ["", f"Next to {name}:", "", indent(text.rstrip("\n"), "    ")]
    lines += ["", "Wrong:", "", indent(rule.wrong.rstrip("\n"), "    ")]
    lines += ["", "Right:", "", indent(rule.right.rstrip("\n"), "    ")]
    if rule.fixable:
        lines += ["", "`crosscast lint --fix` fixes it."]
    if rule.sources:
        lines += ["", f"Sources: {'; '.join(rule.sources)}"]
    lines += ["", f"To ignore one finding, add a comment: # crosscast: ignore[{rule.code}]"]
    return "\n".join(lines) + "\n"


def rows(rules: Iterable[Rule]) -> list[tuple[str, str, str, str, str, str]]:
    """Return the table of rules: code, name, topic, severity, whether --fix applies, title."""
    return [
        (
            rule.code,
            rule.name,
            rule.topic,
            str(rule.severity),
            "yes" if rule.fixable else "",
            rule.title,
        )
        for rule in rules
    ]


def wrapped(text: str) -> list[str]:
    """Return the wrapped lines of the paragraphs of a text."""
    from textwrap import wrap

    lines: list[str] = []
    for paragraph in text.strip().split("\n\n"):
        lines += ["", *wrap(" ".join(paragraph.split()), 98, break_on_hyphens=False)]
    return lines[1:]
