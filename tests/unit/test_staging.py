"""The sources of the documentation site, made from the pages of the repository."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from website import staging
from website.explorers import FORMS

EXAMPLES = "examples/lstm-forecast"


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("docs/reference/data.md", "reference/data.md"),
        ("docs/reference/conformance.json", "reference/conformance.json"),
        ("docs/zh/index.md", "index.md"),
        ("docs/images/explorer.png", "images/explorer.png"),
        ("README.md", "source/README.md"),
        ("README.zh.md", "source/README.md"),
        (f"{EXAMPLES}/data.py", f"source/{EXAMPLES}/data.py.md"),
        (EXAMPLES, f"source/{EXAMPLES}/index.md"),
    ],
)
def test_files_have_a_place_on_the_site(path: str, shown: str) -> None:
    assert staging.place(PurePosixPath(path)) == PurePosixPath(shown)


def test_links_are_followed_outside_of_code_only() -> None:
    page = "[a](b.md#c) [`d`](../e.py) `[f](g.md)` [h](https://i.md) [j](#k)\n```\n[l](m.md)\n```\n"
    followed: list[str] = []

    def follow(path: PurePosixPath) -> str:
        followed.append(str(path))
        return "X"

    found = staging.relinked(PurePosixPath("docs", "how-to", "page.md"), page, follow)
    assert followed == [f"docs/{name}" for name in ("how-to/b.md", "e.py")]
    assert found == page.replace("b.md#c", "X#c").replace("../e.py", "X")


def test_titled_blocks_become_tabs() -> None:
    blocks = "**A**\n\n```python\nx\n\ny\n```\n\n**B**\n\n```\nz\n```\n"
    found = staging.tabbed(f"before\n\n<!-- tabs -->\n{blocks}<!-- /tabs -->\n\nafter\n")
    assert '=== "A"\n\n    ```python\n    x\n\n    y\n    ```\n' in found
    assert '=== "B"\n\n    ```\n    z\n    ```\n' in found
    assert "<!--" not in found
    assert "**A**" in staging.tabbed(blocks)


def test_chinese_lines_are_joined() -> None:
    assert staging.joined("混合精度、\n损失缩放\nloss scaling\n\n梯度\n") == (
        "混合精度、损失缩放\nloss scaling\n\n梯度\n"
    )
    code = "```\n混合\n精度\n```\n"
    assert staging.joined(code) == code


def test_a_language_links_to_pages_that_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = tmp_path / "docs"
    for name, text in {
        "index.md": "[README](../README.md) [中文](zh/index.md)\n",
        "../README.zh.md": "[English](README.md) [首页](docs/zh/index.md)\n",
        "how-to/fit.md": "fit\n",
        "zh/index.md": "[下一页](how-to/next.md) [全部](../../README.zh.md)\n",
        "zh/how-to/next.md": "[fit](../../how-to/fit.md) [上一页](../index.md)\n",
    }.items():
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).write_text(text)
    (tmp_path / "README.md").write_text("[docs](docs/index.md) ![seen](docs/seen.png)\n")
    (docs / "seen.png").write_bytes(b"\x89")
    monkeypatch.setattr(staging, "ROOT", tmp_path)
    staging.stage("en", tmp_path / "en", "0.1")
    staging.stage("zh", tmp_path / "zh", "0.1")
    english = (tmp_path / "en" / "index.md").read_text()
    assert english == "[README](source/README.md) [中文](../../zh/0.1/index.html)\n"
    shown = (tmp_path / "en" / "source" / "README.md").read_text()
    assert shown == "[docs](../index.md) ![seen](../seen.png)\n"
    assert (tmp_path / "en" / "seen.png").read_bytes() == b"\x89"
    chinese = (tmp_path / "zh" / "how-to" / "next.md").read_text()
    assert chinese == "[fit](../../../en/0.1/how-to/fit.html) [上一页](../index.md)\n"
    readme = (tmp_path / "zh" / "source" / "README.md").read_text()
    assert readme == "[English](../../../en/0.1/source/index.html) [首页](../index.md)\n"
    assert (tmp_path / "zh" / "assets" / "iframe-worker.js").is_file()
    assert not (tmp_path / "zh" / "how-to" / "fit.md").exists()


def test_a_file_is_shown_in_a_fence_that_it_does_not_close() -> None:
    page = staging.text(PurePosixPath("docs/website/staging.py"))
    assert page.startswith("# `docs/website/staging.py`\n\n````python\n")
    assert page.endswith("````\n")


def test_a_missing_file_is_an_error() -> None:
    with pytest.raises(staging.MissingFileError, match=r"nowhere\.py is linked"):
        staging.text(PurePosixPath("nowhere.py"))


def test_examples_are_linked_to_their_explorer_too() -> None:
    page = f"[a](../../{EXAMPLES}/recipe.yaml): b [c](../../{EXAMPLES}/data.py)\n"
    found = staging.relinked(
        PurePosixPath("docs/reference/examples.md"), page, lambda path: f"<{path}>"
    )
    assert found == (
        f"[a](<{EXAMPLES}/recipe.yaml>) ([explorer](<{EXAMPLES}/recipe.html>)): b"
        f" [c](<{EXAMPLES}/data.py>)\n"
    )
    explorer = PurePosixPath(EXAMPLES, "recipe.html")
    assert staging.place(explorer) == explorer
    text = staging.text(explorer)
    assert '<a href="../../reference/examples.html">' in text
    assert f"{EXAMPLES}/recipe.yaml" in text
    assert str(staging.ROOT) not in text


def test_the_page_of_examples_has_all() -> None:
    page = (staging.ROOT / "docs" / "reference" / "examples.md").read_text(encoding="utf-8")
    for form in FORMS:
        for path in staging.ROOT.glob(form):
            assert f"](../../{path.relative_to(staging.ROOT).as_posix()})" in page
