"""An open recipe: its problems, what a place in it means, and what may be written there."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, Severity
from crosscast.messages.source import Source
from crosscast.recipe.fill_in import PathKey
from crosscast.recipe.load import Loaded
from crosscast.recipe.schema import schema_at
from crosscast.recipe.validate import build_recipe
from crosscast.recipe.yaml_source import YamlDocument, parse
from crosscast_reading.edits.edit import Edit
from crosscast_reading.lint.result import Result, of_diagnostic
from crosscast_reading.readers.recipe_yaml import READER

_SECTIONS = re.compile(r"(?m)^(model|data|batch|precision|optimizer|schedule|accumulation)\s*:")
_BEGINNING = re.compile(r"\s*(#.*)?$|(version:\s*1|name:.*|seed:.*|[a-z]*)\s*$")
_KEY = re.compile(r"^(\s*)(?:- )?([A-Za-z_][\w-]*)\s*:")
_OPEN = re.compile(r"(?<![\w-])([A-Za-z_][\w-]*+)\s*+:\s*\{[^{}]*$")
_VALUE = re.compile(r"(?<![\w-])([A-Za-z_][\w-]*+)\s*+:\s*[^\s,{}#]{0,200}$")
_MEANT = re.compile(r"did you mean (\S+)\?")


def is_recipe(source: Source) -> bool:
    """Whether a document is a recipe: YAML with a version and a section of recipes."""
    return READER.sniff(source) and _SECTIONS.search(source.text) is not None


def may_become_recipe(source: Source) -> bool:
    """Whether a YAML document is a recipe, or has nothing yet but a version and a name."""
    rest = [line for line in source.text.splitlines() if not _BEGINNING.match(line)]
    return is_recipe(source) or not rest


@dataclass(slots=True)
class RecipeText:
    """A recipe as it stands in an editor, finished or not."""

    source: Source
    document: YamlDocument | None = None
    """Its YAML; None if it is none at the moment."""
    loaded: Loaded | None = None
    """The recipe; None if it has errors."""
    problems: list[Diagnostic] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Completion:
    """A word that may be written at a place."""

    word: str
    text: str
    """What it means, or the type of its value."""
    is_field: bool


def read(source: Source) -> RecipeText:
    """Return an open recipe with all its problems; warnings if it has no errors."""
    recipe_text = RecipeText(source)
    try:
        recipe_text.document = parse(source.text, source.name)
        recipe_text.loaded = Loaded(build_recipe(recipe_text.document), recipe_text.document)
        recipe_text.problems += recipe_text.loaded.notices()
        recipe_text.problems += _judged(recipe_text.loaded)
    except DiagnosticError as error:
        recipe_text.problems += error.diagnostics
    return recipe_text


def _judged(loaded: Loaded) -> list[Diagnostic]:
    """Return, at their fields, the requests that a framework cannot fulfill, as notes."""
    from crosscast.recipe.validate import locate
    from crosscast.targets.backend import program_names

    by_place = {}
    for name in program_names():
        for path, row in _verdicts(loaded, name):
            if row.verdict == "unsupported":
                message = f"{name} cannot do this: {row.how}"
                by_place[path, name] = locate(
                    loaded.document,
                    Diagnostic(code=row.code, message=message, path=path, severity=Severity.NOTE),
                )
    return [*by_place.values()]


def _verdicts(loaded: Loaded, target: str) -> list[tuple[str, Any]]:
    from crosscast.targets.backend import find_target
    from crosscast.targets.capability import judge

    judged = judge(loaded.recipe, find_target(target).rows)
    return [(judgement.path, judgement.row) for judgement in judged]


def path_at(document: YamlDocument, line: int, column: int) -> PathKey | None:
    """Return the path of the key or value at a place (from 1), the innermost one."""
    best: PathKey | None = None
    for spans in (document.keys, document.values):
        for path, span in spans.items():
            end = span.end_column or span.column + 1
            inside = span.line == line and span.column <= column <= end
            if inside and path and (best is None or len(path) >= len(best)):
                best = path
    return best


def hover(recipe_text: RecipeText, line: int, column: int) -> str:
    """Return Markdown about the field at a place: meaning, values, verdict of every framework."""
    if recipe_text.document is None:
        return ""
    path = path_at(recipe_text.document, line, column)
    if path is None:
        return ""
    node = schema_at(path, recipe_text.document.data)
    if not node.text and not node.kind:
        return ""
    dotted = ".".join(map(str, path))
    parts = [f"**{dotted}**" + (f" ({node.kind})" if node.kind else "")]
    parts += [node.text] if node.text else []
    if node.words:
        parts.append("One of " + ", ".join(f"`{word}`" for word in node.words) + ".")
    if node.default:
        parts.append(f"Default: `{node.default}`")
    if recipe_text.loaded is not None:
        parts += _verdict_lines(recipe_text.loaded, dotted)
    return "\n\n".join(parts)


def _verdict_lines(loaded: Loaded, dotted: str) -> list[str]:
    from crosscast.targets.backend import program_names

    lines = []
    for target in program_names():
        for path, row in _verdicts(loaded, target):
            if path == dotted or path.startswith(f"{dotted}."):
                of = "" if path == dotted else f"{path}: "
                code = f" {row.code}" if row.code else ""
                lines.append(f"- {target}: {of}{row.verdict}{code}. {row.how}".rstrip())
    return ["\n".join(lines)] if lines else []


def completions(source: Source, line: int, column: int) -> list[Completion]:
    """Return the fields or values that may be written at a place (from 1).

    The text may be unfinished there: sections are told by indentation and open braces.
    """
    lines = source.text.splitlines()
    before = lines[line - 1][: column - 1] if line <= len(lines) else ""
    if "#" in before:
        return []
    path, data = _section(lines[: line - 1], before)
    flow = before[before.rfind("{") + 1 :] if "{" in before else before
    value = _VALUE.search(flow.rpartition(",")[2])
    if value:
        node = schema_at((*path, value[1]), data)
        return [Completion(word, node.kind, is_field=False) for word in node.words]
    node = schema_at(path, data)
    section = _lookup(data, path)
    return [
        Completion(name, text, is_field=True)
        for name, text in node.fields.items()
        if name not in section
    ]


def _section(above: list[str], before: str) -> tuple[PathKey, dict[str, Any]]:
    """Return the path of the section that a place is in, and what the text above says.

    Only what selects fields is read: the words after `kind:` and `name:`, as YAML or not.
    """
    stack: list[tuple[int, str]] = []
    data: dict[str, Any] = {}
    for text in above:
        if key := _KEY.match(text):
            indent = len(key[1])
            stack = [(at, name) for at, name in stack if at < indent]
            stack.append((indent, key[2]))
            _enter(data, tuple(name for _, name in stack), text[key.end() :])
    indent = len(before) - len(before.lstrip())
    path = tuple(name for at, name in stack if at < indent)
    key = _KEY.match(before)
    if key and (opened := _OPEN.search(before)):
        _enter(data, (*path, key[2]), before[key.end() :])
        names = [key[2]] if opened[1] == key[2] else [key[2], opened[1]]
        return (*path, *names), data
    return path, data


def _enter(data: dict[str, Any], path: tuple[str, ...], text: str) -> None:
    section: Any = data
    for name in path[:-1]:
        section = section.setdefault(name, {})
        if not isinstance(section, dict):
            return
    text = text.partition(" #")[0].strip()
    if text.startswith("{"):
        pairs = re.findall(r"(?<![\w-])([A-Za-z_][\w-]*+)\s*+:\s*([^\s,{}]+)", text)
        section[path[-1]] = dict(pairs)
    else:
        section[path[-1]] = text or {}


def _lookup(data: Any, path: PathKey) -> dict[str, Any]:
    for key in path:
        data = data.get(key, {}) if isinstance(data, dict) else {}
    return data if isinstance(data, dict) else {}


def results(source: Source) -> list[Result]:
    """Return the problems of a recipe, with the words that were meant as edits."""
    return [_with_edit(problem) for problem in read(source).problems]


def _with_edit(problem: Diagnostic) -> Result:
    result, span, word = of_diagnostic(problem), problem.span, meant(problem)
    if span is None or span.end_column is None or not word:
        return result
    edit = Edit(
        file=span.file,
        line=span.line,
        column=span.column,
        end_line=span.line,
        end_column=span.end_column,
        text=word,
    )
    return replace(result, edits=(edit,))


def meant(problem: Diagnostic) -> str:
    """Return the word that the hint of a problem suggests in place of its span; empty if none.

    A field that belongs to another section is no word for this place.
    """
    match = _MEANT.fullmatch(problem.hint)
    if match is None or problem.span is None:
        return ""
    if problem.code != "CC101":
        return match[1]
    section, _, name = match[1].rpartition(".")
    return name if section in ("", problem.path.rpartition(".")[0]) else ""
