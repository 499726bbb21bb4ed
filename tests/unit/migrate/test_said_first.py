"""What a migration in place says first, and what it says where there is nothing to migrate."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import migration_sources
from crosscast.cli import app
from crosscast.messages.console import print_diff
from crosscast.targets.source_support import migration_apis
from crosscast_migrate import verifying
from crosscast_migrate.registry import codemods_to
from crosscast_reading.lint import fix
from migration_sources import with_experimental

OLD = migration_sources.TORCH.replace('torch.amp.GradScaler("cuda", ', "torch.cuda.amp.GradScaler(")
TYPO = migration_sources.APEX.replace("amp.scale_loss", "amp.scaled_loss")
PYTHON_2 = 'from apex import amp\nprint "loss"\n'
KERAS = (
    'import tensorflow as tf\ntf.keras.mixed_precision.experimental.set_policy("mixed_float16")\n'
)


def migrate(*words: object) -> Any:
    return CliRunner().invoke(app, with_experimental(("migrate", *words)))


def three(found: Any) -> list[str]:
    lines = found.stderr.splitlines()[:3]
    assert [line.partition(": ")[0] for line in lines] == ["Done", "Decide", "Risk"]
    return [str(line.partition(": ")[2]) for line in lines]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(verifying, "is_installed", lambda name: name != "gone_for_good")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_api_has_modules_and_codemods() -> None:
    for name, api in migration_apis().items():
        assert api.modules
        codes = {codemod.code[:3] for codemod in codemods_to(name)}
        assert min(codes) == api.codes  # a program of TensorFlow 1 may be one of Keras too


@pytest.mark.parametrize(
    ("option", "done"),
    [
        ("--diff", "1 change in 1 file, shown as a diff; --write makes it"),
        ("--check", "1 change in 1 file, listed below; --write makes it"),
        ("--write", "1 change in 1 file, written"),
    ],
)
def test_what_was_done_comes_first(folder: Path, option: str, done: str) -> None:
    (folder / "train.py").write_text(OLD)
    found = migrate("train.py", "--to", "torch.amp", option)
    told, decide, risk = three(found)
    assert re.fullmatch(
        rf"converted: {re.escape(done)}; \d+ of \d+ names and calls bound.* \(torch .*\)", told
    )
    assert decide == "nothing"
    command = "crosscast migrate train.py --to torch.amp --experimental --verify --run train.py"
    assert risk.endswith(f"; not verified ({command} verifies it)")
    assert found.exit_code == 1
    (folder / "train.py").write_text(OLD)
    fine = migrate("train.py", "--to", "torch.amp", option, "--no-run")
    assert fine.exit_code == (1 if option == "--check" else 0)
    assert fine.stderr == found.stderr
    (folder / "train.py").write_text(OLD)
    data = json.loads(migrate("train.py", "--to", "torch.amp", option, "--json").stdout)
    assert data["summary"]["done"] == told
    assert data["summary"]["state"] == "converted"


def test_what_is_left_is_named(folder: Path) -> None:
    (folder / "train.py").write_text(TYPO)
    found = migrate("train.py", "--to", "torch.amp")
    assert found.exit_code == 1
    done, decide, risk = three(found)
    assert done.startswith("open: nothing was changed; ")
    assert risk == "none: no file changes"
    assert decide.startswith("1 place left as it is: train.py:")
    assert decide.endswith("apex.amp has no scaled_loss")


def test_the_present_api_is_fine(folder: Path) -> None:
    (folder / "train.py").write_text(migration_sources.TORCH)
    found = migrate(".", "--to", "torch.amp")
    assert found.exit_code == 0
    done, *rest = three(found)
    assert rest == ["nothing", "none: no file changes"]
    assert re.fullmatch(
        r"nothing to change: train.py uses none of the old APIs that torch.amp replaces; "
        r"(\d+) of \1 names and calls bound.* \(torch .*\)",
        done,
    )


def test_what_the_release_lacks_is_open_also_where_nothing_is_to_change(folder: Path) -> None:
    (folder / "train.py").write_text(migration_sources.TORCH + "torch.gone()\n")
    for more in ((), ("--no-run",)):
        found = migrate("train.py", "--to", "torch.amp", *more)
        assert found.exit_code == 1
        assert three(found)[1].endswith("torch 2.13.0 has no torch.gone")
    (folder / "train.py").write_text(OLD + "torch.gone()\n")
    found = migrate("train.py", "--to", "torch.amp", "--no-run")
    assert found.exit_code == 1
    assert three(found)[0].startswith("open: 1 change in 1 file")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("import gone_for_good\n", "gone_for_good, which train.py imports, is not installed"),
        ("import rows\nimport json\nfrom apex import amp\nfrom . import other\n", ""),
        ("try:\n    import gone_for_good\nexcept ImportError:\n    pass\n", ""),
    ],
)
def test_why_it_cannot_be_verified_here_is_said(folder: Path, more: str, said: str) -> None:
    (folder / "rows.py").write_text("x = 3\n")
    (folder / "train.py").write_text(more + OLD)
    risk = three(migrate("train.py", "rows.py", "--to", "torch.amp"))[2]
    assert ("verifies it, not here: " in risk) == bool(said)
    assert said in risk


def test_a_module_beside_a_script_is_there_though_it_is_not_named(folder: Path) -> None:
    (folder / "gone_for_good.py").write_text("x = 3\n")
    (folder / "train.py").write_text("import gone_for_good\n" + OLD)
    risk = three(migrate("train.py", "--to", "torch.amp"))[2]
    assert "verifies it, not here: " not in risk


@pytest.mark.parametrize(
    ("texts", "script"),
    [
        ({"train.py": "", "rows.py": ""}, "'SCRIPT ARG...'"),
        ({"train.py": "if __name__ == '__main__':\n    pass\n", "rows.py": ""}, "train.py"),
        ({"a b.py": ""}, "''\"'\"'a b.py'\"'\"''"),
    ],
)
def test_the_command_that_verifies_names_the_script_if_it_is_certain(
    folder: Path, texts: dict[str, str], script: str
) -> None:
    for name, text in texts.items():
        (folder / name).write_text(OLD + text)
    risk = three(migrate(".", "--to", "torch.amp"))[2]
    assert f" --verify --run {script} verifies it" in risk


def test_a_run_and_no_run_exclude_each_other(folder: Path) -> None:
    (folder / "train.py").write_text(OLD)
    words = ("train.py", "--to", "torch.amp", "--verify", "--run", "train.py", "--no-run")
    found = migrate(*words)
    assert found.exit_code == 2
    assert "choose only one of --run and --no-run" in found.stderr


@pytest.mark.parametrize(
    ("text", "decide", "message"),
    [
        (KERAS, "use --to keras3", "the old APIs here belong to keras3 (1 place)"),
        ("import paddle\n", "use --to paddle3", "train.py is for another framework"),
        ("x = 1\n", "name the program that trains", "nothing here imports torch"),
        ("def f(:\n", "convert Python 2", "train.py cannot be read"),
        (PYTHON_2, "convert Python 2", "train.py cannot be read"),
    ],
    ids=["wrong API", "wrong framework", "no training", "broken", "Python 2"],
)
def test_nothing_to_migrate_is_a_finding(
    folder: Path, text: str, decide: str, message: str
) -> None:
    (folder / "train.py").write_text(text)
    for words in (("train.py",), (".",), ("train.py", "--check"), ("train.py", "--json")):
        found = migrate(*words, "--to", "torch.amp")
        assert found.exit_code == 1
        if "--json" in words:
            data = json.loads(found.stdout)
            assert data["summary"]["decide"].startswith(decide)
            assert "CC971" in [problem["code"] for problem in data["problems"]]
        else:
            assert three(found)[1].startswith(decide)
            assert f"error CC971: nothing to migrate to torch.amp: {message}" in found.stderr


def test_a_file_that_was_named_and_not_read_is_a_finding(folder: Path) -> None:
    (folder / "new.py").write_text(migration_sources.TORCH)
    (folder / "broken.py").write_text("def f(:\n")
    assert migrate(".", "--to", "torch.amp").exit_code == 0
    found = migrate("new.py", "broken.py", "--to", "torch.amp")
    assert found.exit_code == 1
    assert three(found)[1] == "1 file not read: broken.py"
    assert "CC901" in found.stderr


def test_an_old_program_in_python_2_beside_others_is_a_finding(folder: Path) -> None:
    (folder / "train.py").write_text(OLD)
    (folder / "old.py").write_text(PYTHON_2)
    found = migrate(".", "--to", "torch.amp")
    assert found.exit_code == 1
    assert three(found)[1] == "1 file not read: old.py"


def test_without_an_api_it_is_the_one_that_the_old_names_belong_to(folder: Path) -> None:
    (folder / "train.py").write_text(OLD)
    alone, named = migrate("train.py"), migrate("train.py", "--to", "torch.amp")
    assert alone.stderr.replace("--to torch.amp\n", "", 1) == named.stderr
    assert (alone.stdout, alone.exit_code) == (named.stdout, named.exit_code)
    (folder / "train.py").write_text(migration_sources.TORCH)
    assert "nothing to change" in migrate("train.py").stderr
    (folder / "train.py").write_text(KERAS)
    assert "--to keras3" in migrate("train.py", "--check").stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (OLD + KERAS, "the old APIs here belong to torch.amp ("),
        ("x = 1\n", "nothing here imports a framework"),
        ("def f(:\n", "CC971: nothing to migrate: train.py cannot be read"),
    ],
    ids=["two", "none", "broken"],
)
def test_without_an_api_what_is_not_certain_is_asked(folder: Path, text: str, message: str) -> None:
    (folder / "train.py").write_text(text)
    for words in (("train.py",), (".", "--write")):
        found = migrate(*words)
        assert found.exit_code in (1, 2)
        assert message in found.stderr
        assert (folder / "train.py").read_text() == text
    assert "CC001" in migrate("missing.py").stderr
    assert "CC970" in migrate("train.py", "-o", "out").stderr


def test_a_framework_without_a_folder_names_the_api_in_place(folder: Path) -> None:
    (folder / "train.py").write_text(OLD)
    found = migrate("train.py", "--to", "torch")
    assert found.exit_code == 2
    assert "Hint: to update programs in place: --to torch.amp" in found.stderr


def test_a_file_that_cannot_be_written_is_not_called_written(folder: Path) -> None:
    (folder / "train.py").write_text(OLD)
    (folder / "train.py").chmod(0o444)
    found = migrate("train.py", "--to", "torch.amp", "--write")
    assert found.exit_code == 2
    assert three(found)[0].startswith("open: nothing was written; 1 change in 1 file found")


def test_a_file_that_was_named_with_a_dot_is_the_same_file(folder: Path) -> None:
    (folder / "new.py").write_text(migration_sources.TORCH)
    (folder / "broken.py").write_text("def f(:\n")
    found = migrate("./new.py", "./broken.py", "--to", "torch.amp")
    assert found.exit_code == 1
    assert three(found)[1] == "1 file not read: broken.py"
    (folder / "train.py").write_text(OLD)
    found = migrate("./train.py", folder / "train.py", "train.py", "--to", "torch.amp")
    assert three(found)[0].startswith("converted: 1 change in 1 file")


@pytest.mark.parametrize(
    ("content", "code"),
    [(OLD.encode() + b"# caf\xe9\n", "CC005"), (OLD.encode() + b"x = 1\n" * (1 << 20), "CC004")],
    ids=["not UTF-8", "huge"],
)
def test_an_old_program_that_is_no_text_is_a_finding(
    folder: Path, content: bytes, code: str
) -> None:
    (folder / "old.py").write_bytes(content)
    found = migrate(".", "--to", "torch.amp")
    assert found.exit_code == 1
    assert "nothing to migrate to torch.amp: old.py cannot be read" in found.stderr
    assert f"warning {code}: old.py" in found.stderr
    (folder / "new.py").write_text(migration_sources.TORCH)
    found = migrate(".", "--to", "torch.amp")
    assert found.exit_code == 1
    assert three(found)[1] == "1 file not read: old.py"
    found = migrate("old.py", "--to", "torch.amp")
    assert found.exit_code == 2
    assert three(found)[:2] == ["nothing", found.stderr.partition(f"{code}: ")[2].strip()]
    (folder / "old.py").write_bytes(b"\xe9\n")  # of no concern
    assert migrate(".", "--to", "torch.amp").exit_code == 0


def test_a_notebook_in_another_language_is_not_read(folder: Path) -> None:
    cell = {"cell_type": "code", "source": ["library(torch)\n", "x <- amp.initialize(1)"]}
    book = {"cells": [cell], "metadata": {"kernelspec": {"name": "ir", "language": "R"}}}
    (folder / "train.ipynb").write_text(json.dumps(book))
    found = migrate("train.ipynb", "--to", "torch.amp")
    assert found.exit_code == 1
    assert "nothing to migrate to torch.amp: train.ipynb cannot be read" in found.stderr
    assert "CC904: train.ipynb: a notebook in R" in found.stderr


def test_edits_that_would_break_a_file_are_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fix, "_parses", lambda source, text: False)
    (folder / "train.py").write_text(OLD)
    found = migrate("train.py", "--to", "torch.amp", "--write")
    assert found.exit_code == 1
    done, decide, _ = three(found)
    assert done == "nothing"
    assert decide.startswith("train.py: not changed: with the edits it would not be valid Python")
    assert (folder / "train.py").read_text() == OLD


def test_a_missing_file_is_told_alone(folder: Path) -> None:
    found = migrate("gone.py", "--to", "torch.amp")
    assert found.exit_code == 2
    assert "CC971" not in found.stderr


def test_a_diff_has_colors_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-[red]old\n+new\n"
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    print_diff(text)
    assert capsys.readouterr().out == text
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    print_diff(text)
    colored = capsys.readouterr().out
    assert "\x1b[31m-[red]old" in colored
    assert "\x1b[32m+new" in colored
    monkeypatch.setenv("NO_COLOR", "1")
    print_diff(text)
    assert capsys.readouterr().out == text
