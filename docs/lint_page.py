"""The docs page about the rules of lint."""

from __future__ import annotations

from collections.abc import Iterable

from crosscast.lint.rule import Rule
from crosscast.lint.rule_page import rows, wrapped

_FENCE = {"python": "python", "bash": "bash", "json": "json", "yaml": "yaml"}


def lint_page(rules: Iterable[Rule]) -> str:
    """Return the docs page docs/reference/lint-rules.md."""
    listed = list(rules)
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
