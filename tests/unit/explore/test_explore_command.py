"""`crosscast explore`, and the page of `compile` and `migrate`."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from crosscast.cli import app
from crosscast.explore.page import MADE, Page
from recipe_texts import text_of

SCRIPT = """\
import torch

model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in rows:
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.yaml").write_text(text_of())
    Path("s.py").write_text(SCRIPT)


def run(*words: str, code: int = 0, stdin: str = "") -> str:
    result = CliRunner().invoke(app, words, input=stdin)
    assert result.exit_code == code, result.output
    return result.output


def is_page(name: str) -> bool:
    return Path(name).read_text(encoding="utf-8").startswith(MADE)


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What files are written does not depend on the rest of a page."""
    monkeypatch.setattr("crosscast.explore.page.explorer_page", lambda *_: Page(MADE, ()))


@pytest.mark.usefixtures("_quick")
def test_a_page_is_written_and_written_again() -> None:
    assert run("explore", "r.yaml", "--to", "torch", "-o", "p.html") == "p.html\n"
    assert is_page("p.html")
    assert sorted(path.name for path in Path().iterdir()) == ["p.html", "r.yaml", "s.py"]
    run("explore", "r.yaml", "--to", "torch", "-o", "p.html")


@pytest.mark.usefixtures("_quick")
def test_other_files_are_kept() -> None:
    Path("mine.html").write_text("<p>mine</p>")
    command = ("explore", "r.yaml", "--to", "torch", "-o", "mine.html")
    assert "CC501" in run(*command, code=2)
    assert Path("mine.html").read_text() == "<p>mine</p>"
    run(*command, "--force")
    assert is_page("mine.html")


@pytest.mark.usefixtures("_quick")
def test_standard_streams() -> None:
    assert run("explore", "-", "--to", "torch", "-o", "-", stdin=text_of()).startswith(MADE)


def test_a_script() -> None:
    run("explore", "s.py", "--to", "torch", "-o", "p.html")
    assert "optim.SGD" in Path("p.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("r.yaml", "r.yaml", "r.yaml", "-o", "p.html"), "CC021"),
        (("none.yaml", "-o", "p.html"), "CC001"),
        (("r.yaml", "--to", "torhc", "-o", "p.html"), "CC106"),
        (("r.yaml", "--to", "torch", "-o", "."), "CC503"),
        (("r.yaml", "--to", "torch", "-o", ""), "CC503"),
        (("empty.py", "-o", "p.html"), "CC917"),
    ],
)
def test_mistakes(words: tuple[str, ...], code: str) -> None:
    Path("empty.py").write_text("print(1)\n")
    assert code in run("explore", *words, code=2 if code != "CC917" else 1)
    assert not Path("p.html").exists()


def test_a_target_that_cannot_express_the_recipe() -> None:
    data = "{source: npz, train: t.npz, eval: e.npz}"
    text = text_of(model='{kind: custom, factory: {torch: "m:f"}}', data=data)
    Path("r.yaml").write_text(text)
    assert "CC305" in run("explore", "r.yaml", "--to", "paddle,torch", "-o", "p.html", code=1)
    assert is_page("p.html")
    run("explore", "r.yaml", "--to", "paddle", "-o", "q.html", code=1)
    assert not Path("q.html").exists()


@pytest.mark.usefixtures("_quick")
def test_compile_writes_the_page_too() -> None:
    run("compile", "r.yaml", "--to", "torch", "-o", "out", "--explore", "p.html")
    assert is_page("p.html")
    assert Path("out/torch/train.py").exists()


def test_migrate_writes_the_page_too() -> None:
    run("migrate", "s.py", "--to", "paddle", "-o", "out", "--explore", "p.html", code=1)
    text = Path("p.html").read_text(encoding="utf-8")
    assert text.startswith(MADE)
    assert "optim.SGD" in text
    assert 'data-path="own_model.py"' in text
    assert "CC970" in run("migrate", "s.py", "--to", "paddle3", "--explore", "p.html", code=2)
