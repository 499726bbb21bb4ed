"""The reference of the Python API, generated from signatures and docstrings, and its outline."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Literal, get_args, get_origin

import crosscast

GROUPS = {
    "Recipes": "load loads show check init schema",
    "Scripts": "compile explain explore matrix doctor drift",
    "Existing programs": "lift lint lint_rules diff migrate migrate_changes",
    "Running and comparing": "parity check_scaling sweep plan trace_export",
    "Data, states and weights": (
        "data_nli_synthetic data_xnli data_tsv data_jsonl state_show state_convert weights_match"
        " weights_check"
    ),
}
"""The functions by topic, in the order of the page."""


def signature_of(function: Any) -> str:
    """Return the arguments and the result of a function, as its source has them."""
    told = inspect.unwrap(function)
    written = inspect.signature(told)
    plain = [
        parameter.replace(annotation=_Shown(_spelled_out(parameter.annotation, told.__globals__)))
        if parameter.annotation is not inspect.Parameter.empty
        else parameter
        for parameter in written.parameters.values()
    ]
    text = str(inspect.Signature(plain))
    result = written.return_annotation
    return text if result is inspect.Signature.empty else f"{text} -> {result}"


def _spelled_out(annotation: str, names: Mapping[str, Any]) -> str:
    """Return an annotation with the values of choices instead of their name."""

    def choices(word: re.Match[str]) -> str:
        values = get_args(names.get(word[0])) if get_origin(names.get(word[0])) is Literal else ()
        return f"Literal[{', '.join(map(repr, values))}]" if values else word[0]

    return re.sub(r"\b[A-Z]\w+\b", choices, annotation)


class _Shown:
    """An annotation that prints as in the source, without quotes."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def members_of(cls: type) -> Iterator[tuple[str, str, str]]:
    """Yield name, signature or type, and docstring of the public members of a class."""
    fields = inspect.get_annotations(cls)
    for name, annotation in fields.items():
        if not name.startswith("_"):
            yield name, f": {annotation}", field_docs(cls).get(name, "")
    for name, member in vars(cls).items():
        if name.startswith("_") or name in fields:
            continue
        if isinstance(member, property):
            result = inspect.signature(member.fget).return_annotation  # type: ignore[arg-type]
            yield name, f": {result}", inspect.getdoc(member) or ""
        elif inspect.isfunction(member):
            yield name, signature_of(member), inspect.getdoc(member) or ""


def field_docs(cls: type) -> dict[str, str]:
    """Return the texts below the fields of a class."""
    import ast
    import textwrap

    body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    assert isinstance(body, ast.ClassDef)
    found = {}
    for before, after in zip(body.body, body.body[1:], strict=False):
        if (
            isinstance(before, ast.AnnAssign)
            and isinstance(before.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
        ):
            found[before.target.id] = inspect.cleandoc(str(after.value.value))
    return found


def outline() -> str:
    """Return every public name with its signature or members: what must stay as it is."""
    lines = []
    for name in sorted(crosscast.__all__):
        found = getattr(crosscast, name)
        if not isinstance(found, type):
            lines.append(f"{name}{signature_of(found)}" if callable(found) else name)
            continue
        bases = ", ".join(base.__name__ for base in found.__bases__ if base is not object)
        lines.append(f"class {name}({bases})")
        if issubclass(found, Enum):
            lines += [f"    {member.name} = {member.value!r}" for member in found]
        else:
            lines += [f"    {member}{shape}" for member, shape, _ in members_of(found)]
    return "\n".join([*lines, ""])


def python_page() -> str:
    """Return the docs page docs/reference/python-reference.md."""
    lines = [
        "# Python reference",
        "",
        "Generated from signatures, descriptions of arguments and docstrings; do not edit.",
        "[From Python](python.md) is the introduction.",
        "",
        "`Paths` is a path or a list of paths, `Words` a list of words or words separated by",
        "commas, `Texts` a text or a list of texts, `RecipeLike` a `LoadedRecipe` or the path of a",
        "recipe.",
    ]
    for title, names in GROUPS.items():
        lines += ["", f"## {title}"]
        for name in names.split():
            lines += ["", *_function(name, getattr(crosscast, name))]
    lines += ["", "## Results and messages"]
    for name in sorted(crosscast.__all__):
        found = getattr(crosscast, name)
        if isinstance(found, type):
            lines += ["", *_class(name, found)]
    return "\n".join([*lines, ""])


def _function(name: str, function: Any) -> Iterator[str]:
    yield f"### {name}"
    yield ""
    yield from ("```python", *_wrapped(name, signature_of(function)), "```", "")
    yield from _doc(inspect.getdoc(function) or "")


def _wrapped(name: str, signature: str) -> Iterator[str]:
    """Yield a signature, one argument a line if it is long."""
    if len(name + signature) <= 98:
        yield name + signature
        return
    arguments, _, result = signature.rpartition(" -> ")
    yield f"{name}("
    yield from (f"    {argument}," for argument in _split(arguments[1:-1]))
    yield f") -> {result}"


def _split(arguments: str) -> list[str]:
    """Split at commas that are not within brackets."""
    parts, depth = [""], 0
    for letter in arguments:
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _doc(text: str) -> Iterator[str]:
    """Yield a docstring as Markdown: arguments and errors as lists."""
    listing = False
    for line in text.splitlines():
        if line in ("Args:", "Returns:", "Raises:"):
            listing = True
            yield f"**{line.replace('Args', 'Arguments').rstrip(':')}**"
            yield ""
        elif listing and (entry := re.fullmatch(r"    (\w+): (.*)", line)):
            yield f"- `{entry[1]}`: {entry[2]}"
        elif listing and line.startswith("    "):
            yield f"  {line.strip()}" if line.startswith("        ") else line.strip()
        else:
            yield line


def _class(name: str, cls: type) -> Iterator[str]:
    yield f"### {name}"
    yield ""
    yield from _doc(inspect.getdoc(cls) or "")
    if issubclass(cls, Enum):
        yield ""
        yield from (f"- `{member.name}` = `{member.value!r}`" for member in cls)
        return
    members = list(members_of(cls))
    if members:
        yield ""
    for member, shape, doc in members:
        first = " ".join(re.split(r"\n\s*\n", doc)[0].split())
        yield f"- `{member}{shape}`" + (f": {first}" if first else "")
