"""CPU time per file of `ast`, and of LibCST with and without the places and scopes readers need.

pip install libcst && python benchmarks/python_parsers.py FOLDER
"""

from __future__ import annotations

import argparse
import ast
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import libcst
from libcst.metadata import MetadataWrapper, PositionProvider, ScopeProvider


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    texts = [text for path in parser.parse_args().folder.rglob("*.py") for text in readable(path)]
    lines = sum(text.count("\n") for text in texts) / max(1, len(texts))
    print(f"{len(texts)} files that both parse, {lines:.0f} lines on average; ms of CPU per file:")
    for name, work in (
        ("ast", ast.parse),
        ("LibCST", libcst.parse_module),
        ("LibCST with positions and scopes", resolved),
    ):
        print(f"{name:34}{seconds(work, texts) / max(1, len(texts)) * 1e3:8.1f}")


def readable(path: Path) -> list[str]:
    """Return the text of a file in a list, none if one of the parsers refuses it."""
    try:
        text = path.read_text(encoding="utf-8")
        ast.parse(text)
        libcst.parse_module(text)
    except (SyntaxError, ValueError, libcst.ParserSyntaxError):
        return []
    return [text]


def resolved(text: str) -> None:
    """Parse with LibCST and find all places and scopes."""
    wrapper = MetadataWrapper(libcst.parse_module(text))
    wrapper.resolve(PositionProvider)
    wrapper.resolve(ScopeProvider)


def seconds(work: Callable[[str], object], texts: Sequence[str]) -> float:
    """Return the CPU seconds of a parser over all texts."""
    begun = time.process_time()
    for text in texts:
        work(text)
    return time.process_time() - begun


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
