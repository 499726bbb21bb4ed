"""The command: options, exit codes, configuration, many files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from crosscast.cli import app
from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.lint.options import Options
from crosscast_reading.lint.parallel import lint_groups
from crosscast_reading.lint.registry import all_rules
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject
from reading_helpers.lint_runs import run

AddRule = Callable[..., Rule]
HEAD = "optimizer = 1\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: Rule) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(HEAD + "BAD = 1\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.py").write_text(HEAD + "x = BAD\n")
    (tmp_path / "good.py").write_text(HEAD)
    (tmp_path / "nothing.py").write_text("BAD = 1\n")
    return tmp_path


def test_findings(folder: Path) -> None:
    result = run(".")
    assert result.exit_code == 1
    assert "a.py:2:1: warning CL001: this is bad" in result.stdout
    assert "sub/b.py:2:5: warning CL001" in result.stdout
    assert "    x = BAD\n        ^^^\n" in result.stdout
    assert "Found 2 findings (2 warnings) in 2 of 3 files with training." in result.stderr
    assert "nothing.py" not in result.output


def test_no_findings(folder: Path) -> None:
    result = run("good.py")
    assert (result.exit_code, result.stdout) == (0, "")


@pytest.mark.parametrize(
    ("options", "files"),
    [
        (["--select", "CL001"], ["a.py", "b.py"]),
        (["--select", "CL001,CL9"], ["a.py", "b.py"]),
        (["--select", "CL9"], []),
        (["--ignore", "CL0"], []),
        (["--select", "ALL", "--ignore", "CL001"], []),
        (["--exclude", "sub"], ["a.py"]),
        (["--exclude", "sub,a.py"], []),
    ],
)
def test_choices(folder: Path, options: list[str], files: list[str]) -> None:
    data = json.loads(run(".", "--format", "json", *options).stdout)
    assert [Path(entry["span"]["file"]).name for entry in data["findings"]] == files


def test_formats_and_output(folder: Path) -> None:
    assert run(".", "--format", "github").stdout.count("::warning ") == 2
    assert json.loads(run(".", "--format", "sarif").stdout)["version"] == "2.1.0"
    result = run(".", "--format", "sarif", "-o", "out.sarif")
    assert (result.exit_code, result.stdout) == (1, "")
    assert len(json.loads((folder / "out.sarif").read_text())["runs"][0]["results"]) == 2
    assert "CC502" in run(".", "-o", "no/such/folder.txt").stderr


def test_severities_and_the_exit_code(folder: Path) -> None:
    assert run("a.py", "--fail-on", "error").exit_code == 0
    assert run("a.py", "--fail-on", "warning").exit_code == 1


def test_missing_files_do_not_stop_the_others(folder: Path) -> None:
    result = run("no.py", "a.py")
    assert result.exit_code == 2
    assert "CC001" in result.stderr
    assert "CL001" in result.stdout


def test_a_failing_rule_gives_exit_code_1(folder: Path, add_rule: AddRule) -> None:
    def broken(subject: Subject) -> Iterator[Finding]:
        raise KeyError("oops")

    add_rule(broken, "CL002")
    result = CliRunner().invoke(app, ["lint", "good.py"])
    assert result.exit_code == 1
    assert "CC950" in result.stderr
    assert "please report" in result.stderr


def test_stdin(bad: Rule) -> None:
    result = run("-", input=HEAD + "BAD = 1\n")
    assert result.exit_code == 1
    assert "<stdin>:2:1: warning CL001" in result.stdout
    assert "pkg/x.py:2:1" in run("-", "--stdin-name", "pkg/x.py", input=HEAD + "BAD = 1\n").stdout


@pytest.mark.parametrize("command", ["lint", "lift", "migrate"])
@pytest.mark.parametrize("name", ["bytes.py", "bytes.sh", "bytes", "-"])
def test_a_named_file_that_is_no_text(folder: Path, command: str, name: str) -> None:
    data = b"\x80\xff\xfe"
    if name != "-":
        (folder / name).write_bytes(data)
    options = ["--to", "torch.amp", "--experimental"] if command == "migrate" else []
    result = CliRunner().invoke(app, [command, *options, name], input=data)
    assert result.exit_code == 2
    assert "error CC005" in result.stderr


def test_below_a_folder_such_a_file_is_passed_over(folder: Path) -> None:
    (folder / "raw").mkdir()
    (folder / "raw" / "bytes.py").write_bytes(b"\x80\xff\xfe")
    assert run("raw").exit_code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["a.py", "--select", "CL777"],
        ["a.py", "--ignore", "nonsense"],
        ["a.py", "--format", "xml"],
        ["a.py", "--diff", "--format", "json"],
        ["a.py", "--write-baseline"],
        ["--explain", "CL777"],
        ["a.py", "--jobs", "-1"],
    ],
    ids=" ".join,
)
def test_wrong_usage(folder: Path, arguments: list[str]) -> None:
    assert run(*arguments).exit_code == 2


def test_list_and_explain() -> None:
    result = run("--list-rules")
    assert result.exit_code == 0
    for code, rule in all_rules().items():
        assert f"{code}  {rule.name}" in result.stdout
    for code in ("CL901", "CL920", "CL990"):
        rule = all_rules()[code]
        shown = run("--explain", code.lower())
        assert shown.exit_code == 0
        assert rule.title in shown.stdout
        assert "Wrong:" in shown.stdout
    assert run("--explain", next(iter(all_rules().values())).name).exit_code == 0


# configuration


def configure(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(text)


def test_configuration(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(folder, '[tool.crosscast.lint]\nexclude = ["sub"]\n')
    assert "sub" not in run(".").stdout
    configure(folder, '[tool.crosscast.lint]\nselect = ["CL9"]\n')
    assert run(".").exit_code == 0
    assert run(".", "--select", "CL001").exit_code == 1
    configure(folder, '[tool.crosscast.lint]\nignore = ["CL001"]\n')
    assert run(".").exit_code == 0
    configure(folder, '[tool.crosscast.lint.per-file-ignores]\n"sub/*" = ["CL001"]\n')
    assert run(".").stdout.startswith("a.py:2:1: warning CL001")
    monkeypatch.chdir(folder / "sub")
    assert run("b.py").exit_code == 0
    assert run("../a.py").exit_code == 1
    (folder / "sub" / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert run("b.py").exit_code == 0  # a file without these settings is passed over


@pytest.mark.parametrize(
    "text",
    [
        "[tool.crosscast.lint",
        "[tool.crosscast.lint]\nselct = []\n",
        "[tool.crosscast.lint]\nselect = 'CL1'\n",
        "[tool.crosscast.lint]\nselect = [1]\n",
        "[tool.crosscast]\nlint = 1\n",
        "[tool.crosscast.lint]\nper-file-ignores = 1\n",
        "[tool.crosscast.lint]\nselect = ['CL777']\n",
        "[tool.crosscast.lint.per-file-ignores]\nx = 'CL001'\n",
    ],
)
def test_configuration_that_is_not_understood(folder: Path, text: str) -> None:
    configure(folder, text)
    result = run("a.py")
    assert result.exit_code == 2
    assert "CC95" in result.stderr


# processes


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copy this process for workers, with its rules: a thread of another test would prevent it."""
    monkeypatch.setattr(threading, "active_count", lambda: 1)


@pytest.mark.usefixtures("forked")
def test_processes_find_the_same(bad: Rule) -> None:
    groups = [(Source(f"{n}.py", HEAD + "BAD = 1\n" * (n % 3)),) for n in range(40)]
    counts: list[int] = []
    found = list(lint_groups(groups, Options(), 2, counts.append))
    alone = [finding for group in groups for finding in lint_sources(group)]
    assert sorted(map(repr, found)) == sorted(map(repr, alone))
    assert sum(counts) == len(groups)


@pytest.mark.usefixtures("forked")
def test_a_process_that_dies_loses_only_its_group(add_rule: AddRule) -> None:
    def deadly(subject: Subject) -> tuple[()]:
        if "DEADLY" in subject.sources[0].text:
            os.kill(os.getpid(), signal.SIGKILL)
        return ()

    add_rule(deadly)
    groups = [(Source(f"{n}.py", HEAD + "DEADLY" * (n == 3)),) for n in range(6)]
    found = list(lint_groups(groups, Options(), 2))
    assert [(diagnostic.code, "3.py" in diagnostic.message) for diagnostic in found] == [
        ("CC956", True)
    ]


def test_an_interrupt_has_its_exit_code(tmp_path: Path) -> None:
    for number in range(1200):
        (tmp_path / f"{number}.py").write_text(HEAD + "x = [1, 2, 3]\n" * 200)
    process = subprocess.Popen(
        [sys.executable, "-m", "crosscast", "lint", str(tmp_path), "--jobs", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while process.poll() is None and not children.read_text():  # its workers show that it is at it
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert "Traceback" not in stderr
    assert (process.returncode, stderr.splitlines()[-1:]) == (130, ["interrupted"])


# as a process


LOADED = """
import json, sys
from crosscast.cli import app
app({arguments!r}, standalone_mode=False)
names = [n for n in sys.modules if n.startswith("crosscast.")]
print(json.dumps(names), file=sys.stderr)
"""


def test_other_commands_load_nothing_of_lint(tmp_path: Path) -> None:
    code = LOADED.format(arguments=["schema"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = json.loads(done.stderr.splitlines()[-1])
    parts = (
        "crosscast_reading.lint",
        "crosscast_reading.pysource",
        "crosscast_reading.trainstep",
        "crosscast_reading.facts",
    )
    assert [name for name in names if name.startswith(parts)] == []


def test_files_without_training_load_no_reader(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("print('hello')\n")
    code = LOADED.format(arguments=["lint", str(tmp_path)])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = json.loads(done.stderr.splitlines()[-1])
    parts = (
        "crosscast_reading.pysource.project",
        "crosscast_reading.trainstep.steps.search",
        "crosscast_reading.lint.rules.",
    )
    assert [name for name in names if name.startswith(parts)] == []


def test_names_that_do_not_fit_the_encoding(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff\xc3\xa9.py"
    Path(os.fsdecode(name)).write_text("import torch\noptimizer = 1\n")
    for style in ("text", "sarif"):
        done = subprocess.run(
            [sys.executable, "-m", "crosscast", "lint", "--format", style, tmp_path],
            capture_output=True,
            check=False,
            env={**os.environ, "PYTHONIOENCODING": "ascii"},
        )
        assert done.returncode == 0, done.stderr
