"""Names and contents of untrusted files never control the terminal: one place escapes them."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from crosscast.cli import app
from crosscast.messages.diagnostics import Diagnostic, render
from crosscast.messages.terminal import EscapingStream, escaped, plain_stream
from recipe_texts import text_of

RED, RIGHT_TO_LEFT = "\x1b[31m", "\u202e"
HOSTILE = f"x{RED}\x07{RIGHT_TO_LEFT}\u2066\x9b2J\x7f\u200b"
NAMES = (f"a{RED}.py", f"a{RIGHT_TO_LEFT}yp.py", "a\nerror CC001: all is lost.py", "a\x07\x9b2J.py")
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
LOOP = """import torch
scaler = torch.cuda.amp.GradScaler()  # {0}
for x in rows:
    loss = model("{0}").mean()
    scaler.scale(loss).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), "{0}")
    scaler.step(optimizer)
    scaler.update()
"""
COMMANDS = (
    ("lint",),
    ("lint", "--format", "github"),
    ("lint", "--format", "json"),
    ("lift", "--all"),
    ("lift", "--json"),
    ("explain",),
    ("diff", "r.yaml"),
    ("migrate", "--to", "paddle", "-o", "out"),
    ("check",),
    ("explore", "--to", "torch", "-o", "page"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_prints_controls(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.yaml").write_text(text_of())
    for name in NAMES:
        Path(name).write_text(LOOP.format(HOSTILE))
    for name in (*NAMES, "missing" + NAMES[0]):
        result = CliRunner().invoke(app, [*command, f"./{name}"])
        assert isinstance(result.exception, SystemExit | None), result.exception
        printed = result.stdout + result.stderr
        assert printed, command
        assert not CONTROL.search(printed), ascii(printed[:3000])
        assert "\nerror CC001: all is lost" not in printed


def test_bad_recipes_print_no_controls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.yaml").write_text('version: 1\n"a\\e[31m\\u202E": "\\e[2J\\u202E"\nname: "\\e"\n')
    for command in (["check"], ["show"], ["compile", "--to", "torch", "-o", "o"]):
        result = CliRunner().invoke(app, [*command, "bad.yaml"])
        assert result.exit_code in (1, 2)
        assert not CONTROL.search(result.stdout + result.stderr)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_keeps_styles_and_nothing_else() -> None:
    terminal = Terminal()
    EscapingStream(terminal).write(
        f"\x1b[1;31mred\x1b[0m \x1b[2J\x1b]0;title\x07{RIGHT_TO_LEFT}\t\n"
    )
    assert terminal.getvalue() == "\x1b[1;31mred\x1b[0m \\x1b[2J\\x1b]0;title\\x07\\u202e\t\n"


def test_a_pipe_gets_no_styles() -> None:
    pipe = io.StringIO()
    stream = EscapingStream(pipe)
    assert stream.write(RED) == len(RED)
    assert pipe.getvalue() == "\\x1b[31m"
    assert plain_stream(stream) is pipe  # type: ignore[arg-type]


def test_text_of_people_stays() -> None:
    text = "é 你好 😀 \N{COMBINING ACUTE ACCENT} عربى\ttab\nline"
    assert escaped(text) == text


def test_a_line_of_a_name_cannot_pass_for_a_message() -> None:
    lines = render([Diagnostic(code="CC001", message="a\nerror CC002: b", hint="c\nd")]).split("\n")
    assert lines == ["error CC001: a", "    error CC002: b", "  Hint: c", "    d"]


def test_a_diff_in_a_pipe_is_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text(LOOP.format(f"#{RED}"))
    result = CliRunner().invoke(app, ["lint", "--diff", "a.py"])
    if result.stdout:
        assert RED in result.stdout
