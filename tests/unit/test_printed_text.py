"""Names and contents of untrusted files never control the terminal: one place escapes them."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from crosscast.api.html import block, paragraph, pre, table
from crosscast.cli import app
from crosscast.messages.diagnostics import Diagnostic, render
from crosscast.messages.terminal import EscapingStream, escaped, plain_stream, styled_stream
from crosscast_parity.processes.process import Outcome
from crosscast_parity.processes.work_done import Progress
from crosscast_parity.report.page.blocks import Log, Section, Text
from crosscast_parity.report.page.render import render_view
from crosscast_parity.report.page.summary import Card
from crosscast_parity.report.progress import progress_on
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
_EXPERIMENTAL = ("migrate", "--experimental")
DIFFS = (("lint", "--diff"), _EXPERIMENTAL, (*_EXPERIMENTAL, "--check"))
USAGE = (
    (HOSTILE,),
    (f"--{HOSTILE}",),
    ("--lang", HOSTILE, "check", "r.yaml"),
    ("lint", f"--{HOSTILE}"),
    ("lint", "--format", HOSTILE),
    ("check", "r.yaml", HOSTILE),
    ("compile", "r.yaml", "--to", HOSTILE, "-o", "o"),
    ("compile", "r.yaml", "--to", "torch", "-o", "o", "--form", HOSTILE),
    ("migrate", "--updates", HOSTILE),
    ("migrate", "r.yaml", "--to", "paddle", "-o", "o", "--set", HOSTILE),
    ("explore", "r.yaml", "-o", "page", "--version", HOSTILE),
    ("state", HOSTILE),
    ("state", "show", HOSTILE),
    ("state", "show", "r.yaml", "--from", HOSTILE),
    ("parity", "r.yaml", "--to", "torch", "-o", "o", "--check", HOSTILE),
    ("parity", "r.yaml", "--to", "torch", "-o", "o", "--add", f"{HOSTILE}=torch"),
    ("parity", "r.yaml", "--to", "torch", "-o", "o", "--add", f"a=torch,script={HOSTILE}"),
    ("parity", "r.yaml", "--to", "torch", "-o", "o", "--fault", HOSTILE),
    ("parity", "r.yaml", "--to", "torch", "-o", "o", "--reference", HOSTILE),
    ("sweep", "r.yaml", "--to", "torch", "-o", "o", "--set", HOSTILE),
    ("plan", "r.yaml", "--device", HOSTILE),
    ("doctor", HOSTILE),
    ("server", HOSTILE),
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


@pytest.mark.parametrize("arguments", USAGE, ids=ascii)
def test_wrong_arguments_print_no_controls(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.yaml").write_text(text_of())
    result = CliRunner().invoke(app, arguments)
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in (1, 2)
    assert not CONTROL.search(result.output), ascii(result.output)


@pytest.mark.parametrize("command", [*COMMANDS, *DIFFS], ids=" ".join)
@pytest.mark.parametrize("plain", ["", "1"], ids=["styled", "plain"])
def test_a_terminal_gets_no_styles_of_others(
    command: tuple[str, ...], plain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    if plain:
        monkeypatch.setenv("NO_COLOR", plain)
    hidden, name = "\x1b[8m", "a\x1b[8m.py"
    Path("r.yaml").write_text(text_of())
    Path(name).write_text(LOOP.format(f"x{hidden}\u202e"))
    for given in (name, f"missing{hidden}"):
        terminal = Terminal()
        monkeypatch.setattr(sys, "stdout", terminal)
        monkeypatch.setattr(sys, "stderr", terminal)
        with pytest.raises(SystemExit):
            app([*command, f"./{given}"])
        shown = terminal.getvalue()
        assert shown
        if command in (("lint",), _EXPERIMENTAL) and given == name:
            assert ("\x1b[" in shown) is not bool(plain)
        assert hidden not in shown
        assert "\u202e" not in shown


def test_a_terminal_keeps_own_styles_and_nothing_else() -> None:
    terminal = Terminal()
    EscapingStream(terminal).write("\x1b[8mhidden")
    assert terminal.getvalue() == "\\x1b[8mhidden"
    terminal = Terminal()
    styled_stream(EscapingStream(terminal)).write(  # type: ignore[arg-type]
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


def test_pages_show_no_controls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = NAMES[1]
    Path(name).write_text(LOOP.format(HOSTILE))
    result = CliRunner().invoke(app, ["explore", f"./{name}", "--to", "torch", "-o", "page.html"])
    assert result.exit_code == 0, result.output
    page = Path("page.html").read_text(encoding="utf-8")
    assert not CONTROL.search(page)
    assert "\\u202e\\u2066" in page
    data = page.partition('id="data"')[2].partition("</script>")[0].partition(">")[2]
    assert not CONTROL.search("".join(_texts(json.loads(data))))


def _texts(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for pair in value.items() for part in pair for text in _texts(part)]
    if isinstance(value, list):
        return [text for part in value for text in _texts(part)]
    return [value] if isinstance(value, str) else []


def test_reports_show_no_controls() -> None:
    texts = (Text(text=HOSTILE), Log(title=HOSTILE, text=HOSTILE))
    page, _ = render_view(
        title=HOSTILE,
        headline=(HOSTILE, ""),
        facts=[(HOSTILE, HOSTILE)],
        cards=[Card(name=HOSTILE, verdict=HOSTILE, tone="", wording=HOSTILE, blocks=texts)],
        sections=[Section(key="a", title=HOSTILE, blocks=texts)],
    )
    in_notebook = block(paragraph(HOSTILE), pre(HOSTILE), table([HOSTILE], [[HOSTILE]]))
    for text in (page, in_notebook):
        assert not CONTROL.search(text), ascii(CONTROL.findall(text))
        assert escaped(HOSTILE) in text


def test_messages_of_a_run_print_no_controls() -> None:
    terminal = Terminal()
    with progress_on(terminal) as say:
        title, failed = f"run {HOSTILE}", Outcome(kind="failed", message=f"{HOSTILE}[red]")
        say(Progress("started", title, None, 0.0, 2.0))
        say(Progress("ended", title, failed, 1.0, 2.0))
        say(Progress("finding", title, None, 2.0, 2.0))
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\n", "", terminal.getvalue())  # without rich's own
    assert f"{escaped(HOSTILE)}[red]" in shown
    assert not re.search("[\x07\x9b\u200b\u202e\u2066]", shown)
