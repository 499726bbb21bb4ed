"""The Chinese pages say what the English pages say now, in the same form and with the same code."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import translations
from source_trees import ROOT

HAN = "[\u3400-\u9fff]"
TOUCHING = re.compile(rf"{HAN}[A-Za-z0-9`]|[A-Za-z0-9`%]{HAN}")
NARROW = re.compile(rf"{HAN}[,;:?!()]|[,;:?!()]{HAN}|{HAN}\.(?!\w)")
PAGE = """\
# Title

First paragraph of
two lines.

- one `code`
- two, see [other](Other.md)

## Second

| a | b |
|---|---|
| `x` | more |

```bash
run
```
"""
CHINESE = """\
# 标题

第一段。

- 一 `code`
- 二 [其他](Other.md)

## 第二节

| 甲 | 乙 |
|---|---|
| `x` | 更多 |

```bash
run
```
"""


@pytest.mark.parametrize("page", translations.promised())
def test_a_page_did_not_fall_behind(page: str) -> None:
    found = "\n\n".join(map(str, translations.behind(page, translations.read_record())))
    hint = "Translate it, then: python docs/translations.py --accept PAGE"
    assert found == "", f"{hint}\n\n{found}"


@pytest.mark.parametrize("page", translations.promised())
def test_a_page_has_the_form_the_code_and_the_links_of_its_original(page: str) -> None:
    assert list(translations.differences(page)) == []


def test_only_pages_that_are_there_are_recorded() -> None:
    assert sorted(translations.read_record()) == translations.promised()


@pytest.mark.parametrize("page", translations.promised())
def test_chinese_is_spaced_and_punctuated_as_chinese(page: str) -> None:
    text = (ROOT / translations.translation(page)).read_text(encoding="utf-8")
    for block in translations.blocks(text):
        prose = re.sub(r"\]\([^)]*\)|!(?=\[)|[*\[\]]|^#+ ", "", block.text)
        wrong = TOUCHING.findall(prose) + NARROW.findall(prose)
        assert wrong == [], f"{page}:{block.line}: {block.text}"


Edit = Callable[[str, str, str], None]


@pytest.fixture
def edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Edit:
    """A repository of a page and its translation, and a function that changes one of them."""
    monkeypatch.setattr(translations, "ROOT", tmp_path)
    monkeypatch.setattr(translations, "RECORD", tmp_path / "docs" / "zh" / "translated.json")
    (tmp_path / "docs" / "zh").mkdir(parents=True)
    for name in ("index.md", "Other.md"):
        (tmp_path / "docs" / name).write_text(PAGE)
        (tmp_path / "docs" / "zh" / name).write_text(CHINESE)
    translations.accept("docs/index.md", {})

    def edit(name: str, old: str, new: str) -> None:
        path = tmp_path / "docs" / name
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    return edit


def behind() -> list[tuple[str, list[str], list[int]]]:
    found = translations.behind("docs/index.md", translations.read_record())
    return [
        (
            each.section,
            [block.text for block in each.english],
            [block.line for block in each.chinese],
        )
        for each in found
    ]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("of\ntwo", "of two", []),
        ("run\n", "run --more\n", []),
        ("First", "Opening", [("Title", ["Opening paragraph of two lines."], [3])]),
        ("- two", "- and\n- two", [("Title", ["- and"], [])]),
        ("- one `code`\n", "", [("Title", [], [5])]),
        ("| more |", "| less |", [("Second", ["| `x` | less |"], [12])]),
        ("```bash", "```console", [("Second", ["```console"], [14])]),
    ],
)
def test_what_fell_behind_is_named(
    edited: Edit, old: str, new: str, found: list[tuple[str, list[str], list[int]]]
) -> None:
    edited("index.md", old, new)
    assert behind() == found


def test_a_heading_that_changed_is_a_new_section(edited: Edit) -> None:
    edited("index.md", "## Second", "## Last")
    assert [section for section, *_ in behind()] == [
        "Last (new section)",
        "Second (removed section)",
    ]


def test_a_missing_translation_is_named(edited: Edit, tmp_path: Path) -> None:
    (tmp_path / "docs" / "zh" / "index.md").unlink()
    assert [section for section, *_ in behind()] == ["no translation"]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("`code`", "code", "docs/zh/index.md:5 (docs/index.md:6): words of code: `code` missing"),
        ("run\n", "walk\n", "docs/zh/index.md:14 (docs/index.md:15): the code differs"),
        ("- 二", "- 一半\n- 二", "docs/zh/index.md:6 (docs/index.md:7): links: "),
        ("```bash\nrun\n```\n", "", "docs/zh/index.md: 8 blocks for 9"),
        ("## 第二节", "第二节", "docs/zh/index.md:8 (docs/index.md:9): paragraph for heading 2"),
        (
            "Other.md",
            "../Other.md",
            "docs/zh/index.md:6 (docs/index.md:7): links: docs/zh/Other.md missing and"
            " docs/Other.md new",
        ),
    ],
)
def test_differences_of_form_are_found(edited: Edit, old: str, new: str, found: str) -> None:
    assert list(translations.differences("docs/index.md")) == []
    edited("zh/index.md", old, new)
    assert next(translations.differences("docs/index.md")).startswith(found)


def test_only_a_page_of_the_same_form_is_recorded(
    edited: Edit, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edited("index.md", "First", "Opening")
    edited("zh/index.md", "`code`", "code")
    assert translations.main(["--behind"]) == 1
    assert "  zh:  docs/zh/index.md:3: 第一段。" in capsys.readouterr().out
    assert translations.main(["--accept", "docs/zh/index.md"]) == 1
    edited("zh/index.md", "一 code", "一 `code`")
    assert translations.main(["--accept", "docs/zh/index.md"]) == 0
    capsys.readouterr()
    assert translations.main(["--behind"]) == 0
    assert capsys.readouterr().out == "Nothing fell behind.\n"
    assert translations.main(["--accept", "docs/Other.md"]) == 2


def test_code_is_copied_where_both_pages_have_as_much(edited: Edit) -> None:
    english = PAGE.replace("run", "run --more")
    assert translations.updated("docs/index.md", english) == CHINESE.replace("run", "run --more")
    edited("zh/index.md", "```bash\nrun\n```\n", "")
    assert translations.updated("docs/index.md", english) == CHINESE.partition("```")[0]


def test_links_lead_to_chinese_pages_where_they_are(edited: Edit, tmp_path: Path) -> None:
    mark = translations.MARK
    (tmp_path / "docs" / "More.md").write_text(PAGE)
    for link, found in {
        f"(../Other.md#second){mark}": "(Other.md)",
        f"(../More.md#second){mark}": f"(../More.md#second){mark}",
        "(../index.md)": "(../index.md)",
        "(https://example.org/Other.md)": "(https://example.org/Other.md)",
    }.items():
        edited("zh/index.md", "(Other.md)", link)
        assert translations.updated("docs/index.md", PAGE) == CHINESE.replace("(Other.md)", found)
        edited("zh/index.md", link, "(Other.md)")


@pytest.mark.parametrize(
    ("page", "other"),
    [
        ("README.md", "README.zh.md"),
        ("docs/index.md", "docs/zh/index.md"),
        ("docs/how-to/editor.md", "docs/zh/how-to/editor.md"),
    ],
)
def test_a_translation_has_the_path_of_its_page(page: str, other: str) -> None:
    assert translations.translation(page) == other
    assert translations.counterpart(page) == other
    assert translations.counterpart(other) == page


def test_a_year_at_the_start_of_a_line_is_no_list() -> None:
    found = [
        block.kind for block in translations.blocks("A program of\n2019. It is old.\n1. item\n")
    ]
    assert found == ["paragraph", "item"]
