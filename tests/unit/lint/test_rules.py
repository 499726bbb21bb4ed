"""What holds for every rule: its examples, its words, its page."""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.lint.registry import all_rules
from crosscast_reading.lint.result import Result
from crosscast_reading.lint.rule import Rule, Topic
from crosscast_reading.lint.rule_page import explain
from lint_page import lint_page, rule_page
from own_parts import own_rules

ROOT = Path(__file__).resolve().parents[3]
RULES = list(all_rules().values())
every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.code))


@cache
def results(rule: Rule, text: str) -> list[Result]:
    """Return what all rules say to an example."""
    beside = [Source(name, content) for name, content in rule.beside]
    example = Source(rule.example_name, text)
    sources = [*beside, example] if rule.language == "bash" else [example, *beside]
    found = lint_sources(sources)
    assert [finding for finding in found if not finding.is_finding] == []
    # An example of something else may be written in an old interface: apex is the point of some.
    return [
        diagnostic
        for diagnostic in found
        if diagnostic.code == rule.code
        or rule.topic == "outdated"
        or all_rules()[diagnostic.code].topic != "outdated"
    ]


@every_rule
def test_the_wrong_example_is_named(rule: Rule) -> None:
    found = results(rule, rule.wrong)
    assert {diagnostic.code for diagnostic in found} == {rule.code}
    for diagnostic in found:
        assert diagnostic.span is not None
        assert diagnostic.span.text.strip()
        assert diagnostic.message
        assert diagnostic.message[-1] not in ".!"
        line = rule_lines(rule, diagnostic.span.file)[diagnostic.span.line - 1]
        assert diagnostic.span.text.rstrip() == line.rstrip()
        assert 1 <= diagnostic.span.column <= len(line) + 1


def rule_lines(rule: Rule, file: str) -> list[str]:
    text = dict(rule.beside).get(file, rule.wrong)
    return text.split("\n")


@every_rule
def test_nothing_is_found_in_the_right_example(rule: Rule) -> None:
    assert results(rule, rule.right) == []


@every_rule
def test_only_rules_that_repair_are_called_fixable(rule: Rule) -> None:
    edits = [result.edits for result in results(rule, rule.wrong)]
    assert rule.fixable == any(edits)


@every_rule
def test_examples_are_of_their_language(rule: Rule) -> None:
    assert rule.wrong != rule.right
    for text in (rule.right, rule.wrong):
        assert text.endswith("\n")
        if rule.language == "json":
            json.loads(text)
        if rule.language == "python" and rule.name != "not-python-3":
            ast.parse(text)
    for name, text in rule.beside:
        assert text.endswith("\n")
        if name.endswith(".py"):
            ast.parse(text)


@every_rule
def test_words(rule: Rule) -> None:
    assert re.fullmatch(r"CL\d{3}", rule.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
    assert rule.title
    assert not rule.title.endswith(".")
    assert rule.why.endswith(".")
    assert any(
        word in text
        for text in (rule.wrong, *(text for _, text in rule.beside))
        for word in rule.hints or ("",)
    )
    page = explain(rule)
    assert rule.title in page
    assert "\t" not in page


HOMES = [
    ROOT / "translator/crosscast_reading/lint/rules",
    *sorted((ROOT / "backends").glob("*/rules")),
]
MODULES = [
    path for home in HOMES for path in sorted(home.glob("*/*.py")) if not path.stem.startswith("_")
]


def test_codes_and_names_are_unique() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    modules = [path for path in MODULES if "RULE = Rule(" in path.read_text()]
    assert len(modules) == len(own_rules())


def test_a_module_has_a_rule_or_forms_of_rules() -> None:
    for path in MODULES:
        text = path.read_text()
        assert ("\nRULE = Rule(" in text) != ("\nFORMS = (" in text), path


def test_rules_stand_in_the_folder_of_their_topic() -> None:
    for topic in get_args(Topic):
        found = [path for path in MODULES if path.parent.name == topic.replace(" ", "_")]
        modules = [path for path in found if "\nRULE = " in path.read_text()]
        assert len(modules) == sum(rule.topic == topic for rule in own_rules()), topic


def test_what_several_topics_share_is_private_to_none() -> None:
    shared = re.compile(r"(crosscast_\w+(?:\.lint)?\.rules\.\w+)\._\w+ import")
    found = 0
    for home in HOMES:
        for path in home.rglob("*.py"):
            for topic in shared.findall(path.read_text()):
                found += 1
                assert path.parent == ROOT.joinpath(*_folder(topic)), path
    assert found > 10


MOST_LINES = 250
"""Lines of a rule's module, up to which it keeps what only it asks."""


def test_what_one_rule_alone_asks_stands_in_it() -> None:
    """A private module with one importer exists only where both together would be too long."""
    texts = {path: path.read_text() for home in HOMES for path in sorted(home.rglob("*.py"))}
    private = re.compile(r"^from (crosscast_\w+(?:\.\w+)*\._\w+) import ", re.M)
    importers: dict[Path, set[Path]] = {}
    for path, text in texts.items():
        for module in private.findall(text):
            importers.setdefault(ROOT.joinpath(*_folder(module)).with_suffix(".py"), set()).add(
                path
            )
    helpers = {path for path in texts if re.match(r"_[a-z]", path.name)}
    assert importers.keys() == helpers
    alone = {path: by for path, by in importers.items() if len(by) == 1}
    assert alone
    for path, by in alone.items():
        lines = [len(texts[each].splitlines()) for each in (path, *by)]
        assert sum(lines) > MOST_LINES, path


def _folder(package: str) -> tuple[str, ...]:
    root = "translator" if package.startswith("crosscast_reading.") else "backends"
    return (root, *package.split("."))


def test_every_rule_is_on_the_page() -> None:
    text = lint_page(RULES)
    for rule in RULES:
        assert f"| [{rule.code}](rules/{rule.code}.md) | {rule.name} |" in text


@every_rule
def test_every_rule_has_a_page(rule: Rule) -> None:
    page = rule_page(rule)
    assert page.startswith(f"# {rule.code} {rule.name}\n")
    assert rule.wrong in page
    assert rule.right in page
