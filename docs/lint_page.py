"""The docs page about the rules of lint."""

from __future__ import annotations

from collections.abc import Iterable

from crosscast.lint.page import rows, wrapped
from crosscast.lint.rule import Rule

_FENCE = {"python": "python", "bash": "bash", "json": "json", "yaml": "yaml"}


def lint_page(rules: Iterable[Rule]) -> str:
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
    lines = [f"## {rule.code} {rule.name}", "", f"*{rule.title}*", "", *wrapped(rule.why)]
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
