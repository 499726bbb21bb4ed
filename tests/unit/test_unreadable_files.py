"""A file that cannot be read costs a diagnostic about it, and the others are read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from crosscast.cli import app
from crosscast.messages.source import Source
from crosscast.pysource.syntax.parse import MAX_DEPTH, parse_source

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
        done = CliRunner().invoke(app, ["migrate", "."])
        assert isinstance(done.exception, SystemExit | None), (name, done.exception)
        assert '+scaler = torch.amp.GradScaler("cuda")' in done.stdout, done.output
    if command == ("lint",):
        done = CliRunner().invoke(app, ["lint", ".", "--format", "json"])
        assert isinstance(done.exception, SystemExit | None), (name, done.exception)
        found = json.loads(done.stdout)
        assert [f for f in found["findings"] if f["span"]["file"] == "good.py"], done.stdout


@pytest.mark.parametrize("name", [n for n in EXPRESSIONS if n != "digits"])
def test_a_deep_expression_is_refused_with_its_line(name: str) -> None:
    tree, problem = parse_source(Source("deep.py", f"x = 1\ny = {EXPRESSIONS[name]}\n"))
    assert tree is None
    assert problem is not None
    assert problem.code == "CC903"


def test_usual_depth_is_read() -> None:
    text = "x = " + "+".join(["y"] * (MAX_DEPTH - 10))
    assert parse_source(Source("a.py", text))[0] is not None
