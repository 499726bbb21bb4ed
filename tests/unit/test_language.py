"""The language of messages: what chooses it, what it changes, and what it leaves as it is."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from crosscast.cli import app
from crosscast.cli.commands import NAMES, build
from crosscast.messages.diagnostics import Diagnostic, Severity, Span, render
from crosscast.messages.language import VARIABLES, choose, language_of, spoken

LATE_CLIP = """\
import torch

model = torch.nn.Linear(2, 2)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cuda")
for batch in loader:
    with torch.autocast("cuda"):
        loss = model(batch).sum()
    scaler.scale(loss).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
"""
DIAGNOSTIC = Diagnostic(
    code="CC104",
    message="must be 1, got 2",
    path="a.b",
    span=Span("r.yaml", 3, 7, 8, "  b:  2  # two"),
    hint="did you mean 1?",
)


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "train.py"
    path.write_text(LATE_CLIP)
    return str(path)


def run(*arguments: str, **environment: str) -> tuple[int, str, str]:
    """Call the command line without a language in the environment."""
    unset: dict[str, str | None] = dict.fromkeys(VARIABLES)
    result = CliRunner().invoke(app, list(arguments), env=unset | environment)
    return result.exit_code, result.stdout, result.stderr


def test_a_diagnostic_in_each_language() -> None:
    assert render([DIAGNOSTIC]) == (
        "r.yaml:3:7: error CC104: a.b: must be 1, got 2\n"
        "      b:  2  # two\n"
        "          ^\n"
        "  Hint: did you mean 1?"
    )
    assert render([DIAGNOSTIC], "zh") == (
        "r.yaml:3:7: 错误 CC104 [不允许的值]: a.b: must be 1, got 2\n"
        "      b:  2  # two\n"
        "          ^\n"
        "  建议: 是否想写 1？\n"
        "  帮助: 该字段不接受这个值；消息中列出了可接受的值。"
    )


def test_the_help_of_a_code_stands_once() -> None:
    lines = render([DIAGNOSTIC, DIAGNOSTIC], "zh").splitlines()
    assert [line for line in lines if line.startswith("  帮助: ")] == [lines[4]]


def test_codes_of_plugins_have_no_translation() -> None:
    unknown = Diagnostic(code="CC999", message="m", severity=Severity.WARNING)
    assert render([unknown], "zh") == "警告 CC999: m"


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_TW.UTF-8"}, "zh"),
        ({"LANG": "C.UTF-8"}, "en"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({"LC_MESSAGES": "en_US.UTF-8", "LANG": "zh_CN.UTF-8"}, "en"),
        ({"LC_ALL": "zh_CN", "LC_MESSAGES": "C", "LANG": "C"}, "zh"),
        ({"LC_ALL": "", "LANG": "zh"}, "zh"),
        ({"CROSSCAST_LANG": "zh", "LC_ALL": "C"}, "zh"),
        ({"CROSSCAST_LANG": "zh-Hans"}, "zh"),
        ({"CROSSCAST_LANG": "en", "LC_ALL": "zh_CN.UTF-8"}, "en"),
    ],
)
def test_the_environment_chooses(environment: dict[str, str], language: str) -> None:
    assert language_of(environment) == language


@pytest.mark.parametrize(
    ("before", "after", "variable", "chinese"),
    [
        (["--lang", "zh"], [], "", True),
        ([], ["--lang", "zh"], "", True),
        ([], ["--lang=zh"], "en", True),
        ([], [], "zh", True),
        ([], [], "", False),
        (["--lang", "en"], [], "zh", False),
        (["--lang", "zh"], ["--lang", "en"], "", False),
    ],
)
def test_the_option_stands_before_or_after_the_command(
    before: list[str], after: list[str], variable: str, chinese: bool
) -> None:
    code, _, err = run(*before, "check", "nowhere.yaml", *after, CROSSCAST_LANG=variable)
    assert code == 2
    assert ("错误 CC001 [找不到文件]" in err, "error CC001: nowhere" in err) == (
        chinese,
        not chinese,
    )


def test_every_command_takes_the_option() -> None:
    for name in app_commands():
        code, _, err = run(*name.split(), "--lang", "fr")
        assert (code, "'--lang'" in err) == (2, True), name


def app_commands() -> list[str]:
    found = []
    for name in NAMES:
        below = getattr(build(name), "commands", {})
        found += [f"{name} {each}" for each in below] or [name]
    return found


def test_one_run_does_not_choose_for_the_next() -> None:
    run("check", "nowhere.yaml", "--lang", "zh")
    assert spoken() == "en"


def test_findings_in_chinese(script: str) -> None:
    code, out, _ = run("lint", script, "--lang", "zh")
    assert code == 1
    head, line, marks, hint, why, related, fix = out.splitlines()
    assert head.startswith(f"{script}:10:5: 错误 CL301 [在反缩放之前裁剪了梯度]: the gradients")
    assert (line.strip()[:5], set(marks.strip())) == ("torch", {"^"})
    assert hint.startswith("  建议: ")
    assert why.startswith("  帮助: 损失缩放为 65536 时")
    assert (related, fix) == (
        f"  另见: {script}:11:5",
        "  可自动修复：--fix 应用修改，--diff 显示修改",
    )


def test_a_rule_and_the_list_of_rules_in_chinese() -> None:
    _, page, _ = run("lint", "--explain", "CL301", "--lang", "zh")
    assert page.startswith("CL301 clip-before-unscale (error, clipping)\n\n在反缩放之前")
    assert "\n错误写法:\n" in page
    _, table, _ = run("lint", "--list-rules", "--lang", "zh")
    assert "CL602  no-sync-too-late" in table
    assert "在前向传播之后才进入 no_sync" in table


@pytest.mark.parametrize("format", ["json", "sarif", "github", "gitlab"])
def test_what_programs_read_has_no_language(script: str, format: str) -> None:
    english = run("lint", script, "--format", format, "--lang", "en")
    assert run("lint", script, "--format", format, "--lang", "zh") == english
    assert english[0] == 1


def test_json_of_diagnostics_has_no_language() -> None:
    english = run("check", "nowhere.yaml", "--json", "--lang", "en")
    assert run("check", "nowhere.yaml", "--json", "--lang", "zh") == english
    assert english[1].isascii()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "no such encoding"])
def test_no_chinese_where_it_cannot_be_written(encoding: str) -> None:
    class Stream(io.StringIO):
        @property
        def encoding(self) -> str:  # type: ignore[override]
            return encoding

    choose("zh")
    try:
        assert spoken(Stream()) == "en"
        assert spoken(io.TextIOWrapper(io.BytesIO(), encoding="utf-8")) == "zh"
        assert spoken(io.TextIOWrapper(io.BytesIO(), encoding="gbk")) == "zh"
    finally:
        choose("en")


def test_a_terminal_without_chinese_characters_gets_english(tmp_path: Path) -> None:
    environment = {**os.environ, "CROSSCAST_LANG": "zh", "LANG": "C", "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "crosscast", "check", "nowhere.yaml"]
    ended = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 2
    assert ended.stderr.startswith("error CC001: nowhere.yaml")
    assert "Traceback" not in ended.stderr
