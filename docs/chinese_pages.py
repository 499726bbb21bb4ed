"""The Chinese docs pages of the codes, the rules of lint and the glossary, from their tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from codes_page import all_codes
from crosscast.messages import chinese
from crosscast.messages.language import WORDINGS
from crosscast.targets.backend import Backend
from crosscast_reading.lint.rule import Rule

_CODES = (
    "# 诊断消息\n\n由代码表生成，请勿手工编辑。\n\n"
    "`crosscast --lang zh` 或中文的语言环境使终端消息显示这里的标题和帮助"
    "（依次查看 `CROSSCAST_LANG`、`LC_ALL`、`LC_MESSAGES`、`LANG`，以最先设置的为准）；"
    "含有具体数值的句子和命令的帮助仍为英文。"
    "JSON、SARIF、GitLab 等供程序读取的输出和退出码与语言无关。"
    "英文版见[这里](../../reference/diagnostics.md)。\n"
)
_RULES = (
    "# `crosscast lint` 的规则\n\n由规则表生成，请勿手工编辑。\n\n"
    "`crosscast lint PATH...` 检查 Python、notebook、shell 脚本、JSON 和 YAML，不会运行任何程序。"
    "`--diff` 显示安全的修复，`--fix` 应用它们。"
    "没有发现问题时退出码为 0，有问题时为 1（`--fail-on error` 只计错误），"
    "用法错误或文件无法读取时为 2。\n\n"
    "`--baseline FILE --write-baseline` 把已知问题写入基线，`--baseline FILE` 忽略其中列出的问题。"
    "注释 `# crosscast: ignore[CODE]` 对所在的语句（单独成行时对下一条语句）关闭一条规则，"
    "`# crosscast: ignore-file[CODE]` 对整个文件关闭。\n\n"
    "配置和 pre-commit 见[英文页面](../../reference/lint-rules.md)，"
    "所有选项见[命令](../../reference/commands.md#crosscast-lint)。\n"
)
_GLOSSARY = """\
# 术语表

由术语表生成，请勿手工编辑。译法与 PaddlePaddle 的文档一致；API 名称、代码、字段名和取值不翻译。

| 英文 | 中文 |
|---|---|
"""


def chinese_codes_page(backends: Sequence[Backend]) -> str:
    """Return the docs page docs/zh/reference/diagnostics.md."""
    lines = [_CODES]
    for code in sorted(all_codes(backends)):
        found = _entry(code)
        lines += [f"## {code}: {found['title']}", "", found["help"], ""]
    return "\n".join(lines)


def chinese_rules_page(rules: Iterable[Rule]) -> str:
    """Return the docs page docs/zh/reference/lint-rules.md."""
    severities = WORDINGS["zh"].severities
    lines = [_RULES]
    for rule in rules:
        found = _entry(rule.code)
        about = f"`{rule.name}`，级别：{severities[rule.severity]}，"
        about += f"[错误写法和正确写法的示例](../../reference/rules/{rule.code}.md)（英文）"
        lines += [f"## {rule.code}: {found['title']}", "", found["help"], "", about, ""]
    return "\n".join(lines)


def glossary_page() -> str:
    """Return the docs page docs/zh/reference/glossary.md."""
    rows = [f"| {term} | {'、'.join(words)} |" for term, words in chinese.glossary().items()]
    return _GLOSSARY + "\n".join(rows) + "\n"


def _entry(code: str) -> chinese.Entry:
    found = chinese.entry(code)
    if found is None:
        raise SystemExit(f"{code} has no translation in messages/chinese")
    return found
