"""The Chinese texts of codes and rules are complete, current, and use the terms of the glossary."""

from __future__ import annotations

import re
from functools import cache

import pytest

from crosscast.messages import chinese
from crosscast.messages.codes import CODES
from crosscast_reading.lint.registry import all_rules
from own_parts import own_backends, own_rules

QUOTED = re.compile(r"`[^`]*`|'[^']*'|\"[^\"]*\"|\w+[.=][\w\"]+")
"""Code and messages of libraries, which are not translated."""


@cache
def english() -> dict[str, tuple[str, str]]:
    """Return code to title and help of everything that needs a translation."""
    codes = {**CODES}
    for backend in own_backends():
        codes |= {code.code: code for code in backend.codes}
    rules = {rule.code: (rule.title, rule.why) for rule in own_rules()}
    return {name: (code.title, code.help) for name, code in codes.items()} | rules


def test_every_code_and_rule_has_a_translation_and_no_other() -> None:
    known = set(english())
    others = {rule.code for rule in all_rules().values()} - known
    assert chinese.codes_translated() - others == known


def test_translations_are_those_of_the_present_texts() -> None:
    """Translate again what fails here, and write the digest that stands beside it."""
    behind = {
        code: current
        for code, texts in english().items()
        if (current := chinese.digest(*texts)) != translated(code)["of"]
    }
    assert behind == {}


def test_a_changed_text_is_found() -> None:
    title, text = english()["CC104"]
    digest = chinese.digest(title, text)
    assert digest == chinese.digest(title, f"  {text}\n")
    assert digest != chinese.digest(title, f"{text} More.")
    assert digest != chinese.digest(f"{title}s", text)


def test_translations_are_chinese() -> None:
    for code in english():
        found = translated(code)
        assert re.search(r"[\u4e00-\u9fff]", found["title"]), code
        same = found["help"] == english()[code][1]
        assert re.search(r"[\u4e00-\u9fff]", found["help"]) or "<=" in found["help"], code
        assert not same or code == "CC204"
        assert not found["title"].endswith(("。", ".")), code


def test_code_in_texts_is_kept() -> None:
    """What stands in backticks stays as it is, though perhaps in another order."""
    for code, (title, text) in english().items():
        found = translated(code)
        kept = set(re.findall(r"`[^`]+`", f"{title} {text}"))
        assert kept <= set(re.findall(r"`[^`]+`", found["title"] + found["help"])), code


def test_terms_are_those_of_the_glossary() -> None:
    wrong = []
    for code, texts in english().items():
        text = QUOTED.sub("", " ".join(texts))
        found = "".join((translated(code)["title"], translated(code)["help"]))
        for term, words in chinese.glossary().items():
            used = re.search(rf"(?<![\w.-]){re.escape(term)}s?(?![\w-])", text)
            if used and not any(word in found for word in words):
                wrong.append((code, term))
    assert wrong == []


@pytest.mark.parametrize(
    ("term", "word"),
    [
        ("mixed precision", "混合精度"),
        ("loss scaling", "损失缩放"),
        ("gradient accumulation", "梯度累积"),
        ("gradient clipping", "梯度裁剪"),
        ("warm-up", "预热"),
        ("master weights", "主权重"),
        ("learning rate schedule", "学习率调度"),
        ("weight decay", "权重衰减"),
        ("micro-batch", "微批次"),
        ("recipe", "配方"),
        ("static graph", "静态图"),
    ],
)
def test_the_glossary_has_the_terms_of_paddle(term: str, word: str) -> None:
    assert chinese.glossary()[term][0] == word


def translated(code: str) -> chinese.Entry:
    found = chinese.entry(code)
    assert found is not None, code
    return found
