"""The rules as pages: in the terminal, and in the docs."""

from __future__ import annotations

from collections.abc import Iterable

from crosscast.lint.rule import Rule

_FENCE = {"python": "python", "bash": "bash", "json": "json", "yaml": "yaml"}


def explain(rule: Rule) -> str:
    """Return the page of one rule as plain text."""
    from textwrap import indent

    lines = [f"{rule.code} {rule.name} ({rule.severity}, {rule.topic})", "", rule.title, ""]
    lines += _wrapped(rule.why)
    for name, text in rule.beside:
        lines += ["", f"Beside {name}:", "", indent(text.rstrip("\n"), "    ")]
    lines += ["", "Wrong:", "", indent(rule.wrong.rstrip("\n"), "    ")]
    lines += ["", "Right:", "", indent(rule.right.rstrip("\n"), "    ")]
    if rule.fixable:
        lines += ["", "`crosscast lint --fix` repairs it."]
    if rule.sources:
        lines += ["", f"Sources: {'; '.join(rule.sources)}"]
    lines += ["", f"Silence one place with a comment: # crosscast: ignore[{rule.code}]"]
    return "\n".join(lines) + "\n"


def rows(rules: Iterable[Rule]) -> list[tuple[str, str, str, str, str, str]]:
    """Return the table of rules: code, name, topic, severity, whether --fix repairs it, title."""
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


def markdown(rules: Iterable[Rule]) -> str:
    """Return the docs page docs/lint-rules.md."""
    listed = list(rules)
    lines = [
        "# Rules of `crosscast lint`",
        "",
        "Generated from the rules; do not edit.",
        "",
        "`crosscast lint PATH...` looks at Python, notebooks, shell scripts, JSON and YAML; files",
        "that belong together (a script and the program it starts, a program and its modules) are",
        "looked at together, and nothing is ever run. `--diff` shows the certain repairs, `--fix`",
        "makes them. The exit code is 0 without findings, 1 with some (`--fail-on error` counts",
        "only errors), 2 for wrong usage or a file that cannot be read. Settings stand in",
        "`pyproject.toml`:",
        "",
        "```toml",
        "[tool.crosscast.lint]",
        'select = ["ALL"]',
        'ignore = ["CL902"]',
        'exclude = ["third_party"]',
        "",
        "[tool.crosscast.lint.per-file-ignores]",
        '"scripts/old/*" = ["CL9"]',
        "```",
        "",
        "A baseline holds findings that are known: `--baseline FILE --write-baseline` writes it,",
        "`--baseline FILE` leaves out what it holds, also where lines moved.",
        "",
        "As a [pre-commit](https://pre-commit.com) hook, in `.pre-commit-config.yaml`; options go",
        "under `args`, as in `args: [--fail-on, error]`:",
        "",
        "```yaml",
        "repos:",
        "  - repo: URL-OF-YOUR-COPY",
        "    rev: COMMIT",
        "    hooks:",
        "      - id: crosscast-lint",
        "```",
        "",
        "A comment `# crosscast: ignore[CODE]` silences a rule in its statement, or, on a line of",
        "its own, in the next one; `# crosscast: ignore-file[CODE]` in the whole file. `CODE` may",
        "also be the name of a rule or the beginning of codes.",
        "",
        "| code | name | topic | severity | `--fix` | what |",
        "|---|---|---|---|---|---|",
    ]
    for code, name, *rest in rows(listed):
        cells = (f"[{code}](#{code.lower()}-{name})", name, *rest)
        lines.append(f"| {' | '.join(_cell(cell) for cell in cells)} |")
    for rule in listed:
        lines += ["", *_section(rule)]
    return "\n".join(lines) + "\n"


def _section(rule: Rule) -> list[str]:
    fence = _FENCE[rule.language]
    lines = [f"## {rule.code} {rule.name}", "", f"*{rule.title}*", "", *_wrapped(rule.why)]
    for name, text in rule.beside:
        kind = "python" if name.endswith(".py") else name.rpartition(".")[2]
        lines += ["", f"Beside `{name}`:", "", f"```{kind}", text.rstrip("\n"), "```"]
    for title, text in (("Wrong", rule.wrong), ("Right", rule.right)):
        lines += ["", f"{title}:", "", f"```{fence}", text.rstrip("\n"), "```"]
    if rule.sources:
        lines += ["", f"Sources: {'; '.join(rule.sources)}"]
    return lines


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _wrapped(text: str) -> list[str]:
    from textwrap import wrap

    lines: list[str] = []
    for paragraph in text.strip().split("\n\n"):
        lines += ["", *wrap(" ".join(paragraph.split()), 98, break_on_hyphens=False)]
    return lines[1:]
