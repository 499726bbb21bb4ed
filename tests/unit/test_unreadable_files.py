"""A file that cannot be read costs a diagnostic about it, and the others are read."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path

import pytest
from typer.testing import CliRunner

from crosscast.cli import app
from crosscast.messages.source import Source
from crosscast.messages.source_codes import SOURCE_CODES
from crosscast_reading.pysource.syntax.parse import MAX_DEPTH, parse_source
from recipe_texts import text_of

TRAINS = "import torch\nscaler = torch.cuda.amp.GradScaler()\noptimizer.step()\n"
ENCODINGS = ("undefined", "punycode", "idna", "unicode_escape", "hex", "rot13", "utf-7", "nothing")
EXPRESSIONS = {
    "sum": "+".join(["y"] * 1000),
    "not": "not " * 1000 + "y",
    "attribute": "y" + ".a" * 1000,
    "call": "y" + "()" * 1000,
    "method": "y" + ".f(1)" * 300,
    "list": "[" * 1000 + "]" * 1000,
    "lambda": "lambda: " * 1000 + "1",
    "choice": "1 if a else " * 1000 + "1",
    "power": "-" * 1000 + "1",
    "digits": "9" * 10_000,
}
UNREADABLE: dict[str, bytes] = {
    **{f"{name}.py": f"# coding: {name}\n{TRAINS}x = 'a-\u00e4'\n".encode() for name in ENCODINGS},
    **{f"{name}.py": f"{TRAINS}x = {text}\n".encode() for name, text in EXPRESSIONS.items()},
    "branches.py": (TRAINS + "if a:\n    y = 0\n" + "elif a == 1:\n    y = 1\n" * 1000).encode(),
    "null.py": TRAINS.encode() + b"\0",
    "wide.py": TRAINS.encode("utf-16"),
    "broken.py": TRAINS.encode() + b"\xff\xfe",
    "surrogate.py": TRAINS.encode() + b"x = '\xed\xa0\x80'",
    "broken.ipynb": b'{"cells": [{"cell_type": "code", "source": ["fp16 optimizer backward(',
    "types.ipynb": b'{"cells": [1, {"cell_type": "code", "source": {"a": []}}], "metadata": 3}',
    "deep.ipynb": b"[" * 100_000,
    "bomb.yaml": b"fp16: &a [x]\n" + b"".join(
        b"o%d: &a%d [*a%s]\n" % (n, n, b", ".join([b"*a%d" % (n - 1)] * 9)[2:] if n else b"")
        for n in range(30)
    ),
    "deep.yaml": b"optimizer: " + b"[" * 5000,
    "deep.json": b'{"optimizer": ' + b"[" * 100_000,
    "digits.json": b'{"optimizer": ' + b"9" * 10_000 + b"}",
    "deep.sh": b"python train.py " + b"$(" * 5000,
    "nested.sh": b"if true; then\n" * 5000 + b"python train.py --fp16\n",
}  # fmt: skip


def saved_header(text: bytes) -> bytes:
    """Return a safetensors file with a header and one number."""
    return struct.pack("<Q", len(text)) + text + bytes(4)


READING = (
    ("lint",),
    ("lift",),
    ("explain",),
    ("migrate",),
    ("migrate", "--to", "paddle", "-o", "out"),
    ("explore", "--to", "torch", "-o", "page.html"),
)


@pytest.mark.parametrize("name", UNREADABLE)
@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_the_others_are_read(
    command: tuple[str, ...], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.py").write_text(
        "import torch\nscaler = torch.cuda.amp.GradScaler()\nfor x in rows:\n"
        "    scaler.scale(model(x)).backward()\n    optimizer.step()\n"
    )
    Path(name).write_bytes(UNREADABLE[name])
    result = CliRunner().invoke(app, [*command, name])
    said = (name, result.exit_code, result.output[-800:], result.exception)
    assert isinstance(result.exception, SystemExit | None), said
    assert result.exit_code in (0, 1, 2), said
    assert "CC950" not in result.output, said
    if command == ("migrate",):
        done = CliRunner().invoke(app, ["migrate", ".", "--experimental"])
        assert isinstance(done.exception, SystemExit | None), (name, done.exception)
        assert '+scaler = torch.amp.GradScaler("cuda")' in done.stdout, done.output
    if command == ("lint",):
        done = CliRunner().invoke(app, ["lint", ".", "--format", "json"])
        assert isinstance(done.exception, SystemExit | None), (name, done.exception)
        found = json.loads(done.stdout)
        assert [f for f in found["findings"] if f["span"]["file"] == "good.py"], done.stdout


RECIPES: dict[str, bytes] = {
    "undefined.yaml": b"# coding: undefined\nversion: 1\n",
    "null.yaml": text_of().encode() + b"\0",
    "broken.yaml": text_of().encode() + b"# \xff\xfe",
    "surrogate.yaml": text_of(name='"\\ud800"').encode(),
    "bytes.yaml": text_of().encode() + b"# \xed\xa0\x80",
    "escapes.yaml": text_of(name='"\\e[31m\\u202E"').encode(),
    "keys.yaml": text_of().encode() + b'"\\e[31m\\u202E\\nerror CC001: lost": 1\n',
    "lists.yaml": text_of().encode() + b"x-a: " + b"[" * 5000,
    "maps.yaml": text_of().encode() + b"x-a: " + b"{a: " * 190 + b"1" + b"}" * 190,
    "blocks.yaml": text_of().encode() + b"".join(b" " * n + b"x-a:\n" for n in range(1000)),
    "long.yaml": text_of(name="a" * 200_000).encode(),
    "digits.yaml": text_of(seed="9" * 10_000).encode(),
    "paths.yaml": text_of(data='{source: npz, train: "\\e[31m", eval: "b\\n"}').encode(),
    "bomb.yaml": UNREADABLE["bomb.yaml"],
}
STATES: dict[str, bytes] = {
    "lists.safetensors": saved_header(b"[" * 100_000),
    "digits.safetensors": saved_header(b'{"a": ' + b"9" * 10_000 + b"}"),
    "maps.safetensors": saved_header(b'{"__metadata__":' + b'{"a":' * 900 + b"1" + b"}" * 901),
    "surrogate.safetensors": saved_header(
        b'{"a\\ud800":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    ),
    "escapes.safetensors": saved_header(
        b'{"__metadata__":{"settings":"\\u001b[31m\\u202e"},'
        b'"model.\\u001b[31m\\nerror":{"dtype":"\\u001b[2J","shape":[1],"data_offsets":[0,4]}}'
    ),
    "null.safetensors": saved_header(
        b'{"a\\u0000":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    ),
    "zip.safetensors": b"PK\x03\x04",
    "python.safetensors": UNREADABLE["punycode.py"],
}
OF_RECIPES = (
    ("compile", "--to", "torch", "-o", "out"),
    ("explore", "--to", "torch", "-o", "out"),
    ("parity", "--to", "torch,nothing", "-o", "out"),
    ("state", "show", "missing", "--recipe"),
)
OF_STATES = (
    ("state", "show"),
    ("state", "convert", "--from", "torch", "--to", "paddle"),
    ("state", "show", "--recipe", "good.yaml"),
)


@pytest.mark.parametrize(
    ("command", "name", "data"),
    [
        *((command, name, data) for command in OF_RECIPES for name, data in RECIPES.items()),
        *((command, name, data) for command in OF_STATES for name, data in STATES.items()),
    ],
)
def test_a_file_that_is_none_is_refused_with_a_code(
    command: tuple[str, ...],
    name: str,
    data: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.yaml").write_text(text_of())
    Path(name).write_bytes(data)
    result = CliRunner().invoke(app, [*command, name])
    assert isinstance(result.exception, SystemExit | None), result.exception
    assert "CC950" not in result.output
    assert not re.search("[\x1b\u202e]|\nerror CC001: lost", result.output)
    if result.exit_code:
        assert re.search(r"error CC\d+: ", result.stderr), result.output
        assert {path.name for path in tmp_path.iterdir()} == {"good.yaml", name}


@pytest.mark.parametrize("name", [n for n in EXPRESSIONS if n != "digits"])
def test_a_deep_expression_is_refused_with_its_line(name: str) -> None:
    tree, problem = parse_source(Source("deep.py", f"x = 1\ny = {EXPRESSIONS[name]}\n"))
    assert tree is None
    assert problem is not None
    assert problem.code == "CC903"


def test_the_help_of_depth_is_true() -> None:
    """What it says is flat is read; each `elif` is within the one before."""
    help_text = next(code.help for code in SOURCE_CODES if code.code == "CC903")
    assert f" {MAX_DEPTH} " in help_text
    assert all(word in help_text for word in ("elif", "match", "dict"))
    values = range(MAX_DEPTH + 100)
    elifs = "if x:\n    y\n" + "".join(f"elif x == {n}:\n    y\n" for n in values)
    cases = "match x:\n" + "".join(f"    case {n}:\n        y\n" for n in values)
    entries = f"x = {dict.fromkeys(values, 1)}\n"
    refused = [parse_source(Source("a.py", text))[0] is None for text in (elifs, cases, entries)]
    assert refused == [True, False, False]


def test_usual_depth_is_read() -> None:
    text = "x = " + "+".join(["y"] * (MAX_DEPTH - 10))
    assert parse_source(Source("a.py", text))[0] is not None
