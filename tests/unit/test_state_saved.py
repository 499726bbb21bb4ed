"""The process that reads files of torch.save: what it tells, and how it can fail."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from crosscast.cli import app
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.state.outline import outline
from crosscast.state.problems import DamagedError, strict_json
from crosscast.state.saved_file import Foreign, saved_file

PYTHON = sys.executable


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> Path:
    """Put a program in the place of Python; return a file to read with it."""
    path = folder / "python"
    path.write_text(f"#!{PYTHON}\nimport json, sys\nfrom pathlib import Path\n{program}\n")
    path.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(path))
    file = folder / "x.pt"
    file.write_bytes(b"PK")
    return file


FAILURES = {
    "missing": ("sys.exit(\"ModuleNotFoundError: No module named 'torch'\")", "CC401", "torch"),
    "died": ("sys.exit(9)", "CC963", "its reader crashed: no output"),
    "killed": ("import os; os.kill(os.getpid(), 9)", "CC963", "its reader crashed"),
    "not JSON": ("print('hello')", "CC963", "its reader crashed"),
    "other JSON": ("print('[]')", "CC963", "its reader crashed"),
    "refused": (
        'print(\'{"error": "it is nested too deeply", "hint": "save less"}\')',
        "CC963",
        "nested too deeply",
    ),
}


@pytest.mark.parametrize("name", FAILURES)
def test_failures_of_the_reader(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, code, words = FAILURES[name]
    file = stand_in(tmp_path, monkeypatch, program)
    with pytest.raises(DiagnosticError, match=words) as caught, saved_file(file, "torch"):
        pass
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == [code]


WRITES = """
folder = Path(sys.argv[4])
tree = {"kind": "dict", "items": [
    ["a", {"kind": "tensor", "value": "0", "dtype": "bfloat16"}],
    [7, {"kind": "list", "items": [{"kind": "value", "value": None}]}],
    ["b", {"kind": "float", "value": "inf"}],
    ["c", {"kind": "other", "value": "Linear"}]]}
(folder / "tree.json").write_text(json.dumps(tree))
header = json.dumps({"0": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
content = len(header).to_bytes(8, "little") + header + bytes(4)
(folder / "tensors.safetensors").write_bytes(content)
print("talk")
print(json.dumps({"error": "", "hint": ""}))
"""


def test_what_the_reader_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = stand_in(tmp_path, monkeypatch, WRITES)
    with saved_file(file, "torch") as tree:
        assert (tree["a"].dtype, tree["a"].array.tolist()) == ("bfloat16", [0.0])
        assert tree[7] == [None]
        assert tree["b"] == float("inf")
        assert tree["c"] == Foreign("Linear")


def test_keys_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = WRITES.replace('"a"', '"model"').replace('"b"', '"grads"').replace('"c"', '"updates"')
    file = stand_in(tmp_path, monkeypatch, program)
    assert outline(file, "torch") == [
        ("model", 1, 1, "weights"),
        ("7", 0, 0, "nothing (CC965)"),
        ("grads", 0, 0, "the middle of a window, which begins again (CC968)"),
        ("updates", 0, 0, "position"),
    ]
    done = CliRunner().invoke(app, ["state", "show", str(file), "--json"])
    assert json.loads(done.stdout)["keys"][0]["taken for"] == "weights"
    assert "taken for" in CliRunner().invoke(app, ["state", "show", str(file)]).stdout


def test_files_that_are_none(tmp_path: Path) -> None:
    for path, code in ((tmp_path / "none.pt", "CC001"), (tmp_path, "CC002")):
        with pytest.raises(DiagnosticError) as caught, saved_file(path, "torch"):
            pass
        assert caught.value.diagnostics[0].code == code


@pytest.mark.parametrize(
    "text", ["", "{", "NaN", "[Infinity]", '{"a": {"b": 1, "b": 2}}', "[" * 99999]
)
def test_json_that_is_not_strict(text: str) -> None:
    with pytest.raises(DamagedError):
        strict_json(text)
    assert strict_json('{"a": [1, 2.5, null, true]}') == {"a": [1, 2.5, None, True]}
