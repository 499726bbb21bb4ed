"""Options that make no sense are usage: exit code 2, one diagnostic, nothing written."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from crosscast.cli import app
from recipe_texts import text_of


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--python", "torch"], "CC707"),
        (["--half", "emulated", "--device", "gpu"], "CC707"),
        (["--reference", "paddle"], "CC707"),
        (["--fault", "x"], "CC705"),
    ],
)
def test_parity_options_that_make_no_sense(tmp_path: Path, options: list[str], code: str) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(text_of())
    out = tmp_path / "out"
    result = CliRunner().invoke(
        app, ["parity", str(path), "--to", "torch", *options, "-o", str(out)]
    )
    assert (result.exit_code, f"error {code}" in result.stderr) == (2, True), result.output
    assert not out.exists()


def test_a_version_that_no_target_has(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(text_of())
    result = CliRunner().invoke(app, ["check", str(path), "--to", "torch@0.4"])
    assert (result.exit_code, "error CC108" in result.stderr) == (2, True), result.output


_EVERY_TO = [
    ("compile", "{}", "-o", "-", "--to"),
    ("check", "{}", "--to"),
    ("explain", "{}", "--to"),
    ("explore", "{}", "-o", "-", "--to"),
    ("plan", "{}", "--memory", "1GiB", "--to"),
    ("parity", "{}", "-o", "{}.out", "--to"),
    ("check-scaling", "{}", "--to"),
    ("sweep", "{}", "-o", "{}.out", "--to"),
    ("migrate", "{}", "-o", "{}.out", "--to"),
    ("migrate", "{}", "--to"),
    ("state", "convert", "{}", "--from", "torch", "--to"),
    ("state", "convert", "{}", "--to", "torch", "--from"),
    ("state", "show", "{}", "--from"),
    ("weights", "match", "{}", "--to"),
    ("weights", "check", "{}", "--to"),
]


@pytest.mark.parametrize("command", _EVERY_TO, ids=" ".join)
@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("torch@9.9", "write torch@torch.amp for 2.4 or newer, or a release from 1.6 to 2.13"),
        ("pytorch", "did you mean "),
        ("tf", "did you mean "),
        ("keras", "tensorflow"),
        ("paddlepaddle", "paddle"),
    ],
)
def test_unknown_targets_of_every_command(
    tmp_path: Path, command: tuple[str, ...], target: str, words: str
) -> None:
    path = tmp_path / "r.yaml"
    factories = "{torch: 'a:b', paddle: 'a:b'}"
    data = "{source: npz, train: a.npz, eval: a.npz}"
    path.write_text(text_of(model=f"{{kind: custom, factory: {factories}}}", data=data))
    arguments = [word.format(path) for word in command]
    result = CliRunner().invoke(app, [*arguments, target])
    assert result.exit_code == 2, result.output
    if command == ("migrate", "{}", "--to") and "@" in target:
        assert "choose a folder with -o" in result.stderr  # before the release matters
        return
    assert (
        "error CC106" in result.stderr or "error CC108" in result.stderr or "CC970" in result.stderr
    )
    hint = result.stderr.partition("Hint: ")[2]
    assert words in hint
