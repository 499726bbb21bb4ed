"""Render templates with strict quoting and reproducible output."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Hashable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, StrictUndefined

from crosscast.emit.template_cache import TemplateCache, cache_folder


def template_root() -> Path:
    """Return the folder of the shipped templates: inside the wheel, or of the checkout."""
    module_path = Path(__file__).resolve()
    packaged = module_path.parents[1] / "templates"
    return packaged if packaged.is_dir() else module_path.parents[3] / "templates"


@cache
def environment(folder: Path) -> Environment:
    """Return the template environment of a backend's folder, with the shared root as fallback."""
    cached = cache_folder()
    env = Environment(
        loader=ChoiceLoader([FileSystemLoader(folder), FileSystemLoader(template_root())]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # Python and shell text; every string passes `py` or `sh`
        auto_reload=False,
        cache_size=-1,  # of all templates; counting uses for a limit takes longer than a lookup
        bytecode_cache=TemplateCache(cached, Path(__file__)) if cached else None,
    )
    env.filters.update(py=py_literal, sh=shell_word, sorted_imports=sorted_imports)
    return env


def render(folder: Path, template: str, view: Mapping[str, Any]) -> str:
    """Return a template's text."""
    if view.keys() == {"spelling"}:
        return dialect_text(folder, template, view["spelling"])
    return environment(folder).get_template(template).render(view)


@lru_cache(maxsize=1024)
def dialect_text(folder: Path, template: str, spelling: Hashable) -> str:
    """Return the text of a template that depends on the dialect alone, as those of `runtime/` do.

    Who compiles hundreds of recipes, as a search for the lines of a field does, renders it once.
    """
    return environment(folder).get_template(template).render({"spelling": spelling})


def py_literal(value: object) -> str:
    """Return Python source for a plain value in the style of a formatter.

    Strings are ASCII and in double quotes unless that needs more escapes. Only str, bool, int,
    finite float, None and tuples of them are accepted.
    """
    if isinstance(value, str):
        return _string_literal(value)
    if value is None or isinstance(value, bool | int):
        return repr(value)
    if isinstance(value, float) and math.isfinite(value):
        return repr(value).replace("e+", "e")  # a formatter writes 1e16
    if isinstance(value, tuple):
        inner = ", ".join(py_literal(item) for item in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    raise TypeError(f"no literal for {type(value).__name__}")


def _string_literal(text: str) -> str:
    """Return a string literal with the quotes that need fewer escapes, preferring double quotes."""
    quote = "'" if text.count('"') > text.count("'") else '"'
    pieces = (f"\\{c}" if c == quote else c if c in "'\"" else ascii(c)[1:-1] for c in text)
    return f"{quote}{''.join(pieces)}{quote}"


def shell_word(value: object) -> str:
    """Return one shell word."""
    return shlex.quote(str(value))


def sorted_imports(text: str) -> str:
    """Return `from` imports in the order of isort: 2 before 10, a before B."""
    statements: list[str] = []
    for line in text.splitlines(keepends=True):
        if line.startswith("from ") or not statements:
            statements.append(line)
        else:
            statements[-1] += line
    return "".join(sorted(statements, key=lambda statement: _natural(statement.split()[1])))


def _natural(name: str) -> tuple[list[tuple[int, int]], str]:
    parts = re.findall(r"\d+|\D", name.lower())
    return [(ord("0"), int(p)) if p.isdigit() else (ord(p), 0) for p in parts], name
