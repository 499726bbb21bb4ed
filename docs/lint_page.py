"""The docs pages about the rules of lint: a table of all, and a page for each."""

from __future__ import annotations

from collections.abc import Iterable

from crosscast_reading.lint.rule import Rule
from crosscast_reading.lint.rule_page import paragraphs, rows

_FENCE = {"python": "python", "bash": "bash", "json": "json", "yaml": "yaml"}


def lint_page(rules: Iterable[Rule]) -> str:
    """Return the docs page docs/reference/lint-rules.md, with links to the pages of the rules."""
    lines = [
        "# Rules of `crosscast lint`",
        "",
        "Generated from the rules; do not edit.",
        "",
        "`crosscast lint PATH...` checks Python, notebooks, shell scripts, JSON and YAML. Files",
        "that belong together (a script and the program it starts, a program and its modules) are",
        "checked together, and nothing is ever run. `--diff` shows the safe fixes, `--fix` applies",
        "them. The exit code is 0 if there are no findings, 1 if there are some (`--fail-on error`",
        "counts only errors), and 2 for a usage error or an unreadable file. Configure it in",
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
        "A baseline lists known findings: `--baseline FILE --write-baseline` writes it, and",
        "`--baseline FILE` ignores the listed findings, even if lines have moved.",
        "",
        "To use it as a [pre-commit](https://pre-commit.com) hook, add this to",
        "`.pre-commit-config.yaml`. Put options under `args`, such as `args: [--fail-on, error]`:",
        "",
        "```yaml",
        "repos:",
        "  - repo: URL-OF-YOUR-COPY",
        "    rev: COMMIT",
        "    hooks:",
        "      - id: crosscast-lint",
        "```",
        "",
        "A comment `# crosscast: ignore[CODE]` disables a rule for its statement or, on a separate",
        "line, for the next one; `# crosscast: ignore-file[CODE]` for the whole file. `CODE` can",
        "also be the name of a rule or a prefix of codes.",
        "",
        "| code | name | topic | severity | `--fix` | what |",
        "|---|---|---|---|---|---|",
    ]
    for code, *rest in rows(rules):
        cells = (f"[{code}](rules/{code}.md)", *rest)
        lines.append(f"| {' | '.join(_cell(cell) for cell in cells)} |")
    return "\n".join(lines) + "\n"


def rule_page(rule: Rule) -> str:
    """Return the docs page of one rule, docs/reference/rules/CODE.md, as it should be laid out.

    It is written by hand: what it says of the rule is read from it. This is its layout.
    """
    fence = _FENCE[rule.language]
    lines = [f"# {rule.code} {rule.name}", ""]
    lines += [f"*{rule.title}*", "", *paragraphs(rule.why)]
    for name, text in rule.beside:
        kind = "python" if name.endswith(".py") else name.rpartition(".")[2]
        lines += ["", f"Beside `{name}`:", "", f"```{kind}", text.rstrip("\n"), "```"]
    for title, text in (("Wrong", rule.wrong), ("Right", rule.right)):
        lines += ["", f"{title}:", "", f"```{fence}", text.rstrip("\n"), "```"]
    if rule.sources:
        lines += ["", f"Sources: {'; '.join(rule.sources)}"]
    fixed = " `--fix` fixes it." if rule.fixable else ""
    lines += ["", f"Severity: {rule.severity}. Topic: {rule.topic}.{fixed} To ignore a finding,"]
    lines += [f"add `# crosscast: ignore[{rule.code}]`. [All rules](../lint-rules.md)"]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
