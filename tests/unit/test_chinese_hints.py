"""The hints in Chinese: complete, none without use, with the same code and values."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from crosscast.messages import chinese
from crosscast.messages.chinese import PLACE
from crosscast.targets.source_support import installed_support
from hint_texts import hint_texts
from source_trees import ROOT

installed_support()  # which brings hints of its own
CODE = re.compile(r"`[^`]*`|\S*\([^()]*\)\S*|\S*[._=]\S+|\w+: \w+")
"""Code and settings, which are not translated."""


def test_every_hint_of_the_source_has_a_translation_and_no_other() -> None:
    written = hint_texts()
    assert {text: path.name for text, path in written.items() if text not in chinese.hints()} == {}
    folders = [Path(chinese.__file__).parent, *sorted(ROOT.glob("backends/*/texts"))]
    own = [text for folder in folders for text in json.loads((folder / "hints.json").read_text())]
    assert [text for text in own if text not in written] == []


def test_code_and_values_are_kept() -> None:
    for text, translated in chinese.hints().items():
        assert text.count(PLACE) == translated.count(PLACE), text
        assert sorted(re.findall(r"`[^`]+`", text)) == sorted(re.findall(r"`[^`]+`", translated))
        commands = text.startswith(("pip install ", "torch="))
        assert commands or re.search(r"[\u4e00-\u9fff]", translated), text


def test_terms_are_those_of_the_glossary() -> None:
    wrong = []
    for text, translated in chinese.hints().items():
        plain = CODE.sub("", text)
        for term, words in chinese.glossary().items():
            used = re.search(rf"(?<![\w.-]){re.escape(term)}s?(?![\w=(-])", plain)
            if used and text != translated and not any(word in translated for word in words):
                wrong.append((term, text))
    assert wrong == []


@pytest.mark.parametrize(
    ("english", "translated"),
    [
        ("divide once", "只除一次"),
        ("call `s.unscale_(o)` before clipping", "在裁剪之前调用 `s.unscale_(o)`"),
        ("divide before backward: `loss = loss / 4`", "在 backward 之前做除法：`loss = loss / 4`"),
        ("write `scaler.step(optimizer)`", "写 `scaler.step(optimizer)`"),
        (r'set `mode="a\1{}"`', r'设置 `mode="a\1{}"`'),
        ("write a(1), with all of the others", "write a(1), with all of the others"),
        ("the table has no such hint", "the table has no such hint"),
        ("", ""),
    ],
)
def test_values_are_put_into_the_translation(english: str, translated: str) -> None:
    assert chinese.hint(english) == translated
