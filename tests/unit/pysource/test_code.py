"""The code of a source: what of its text can do something."""

from __future__ import annotations

import ast

from crosscast_reading.pysource.syntax.code import code_of

TEXT = '''"""Docs: set_epoch."""

NAME = "# set_epoch"  # set_epoch


def work():
    """Call set_epoch.

    set_epoch
    """
    x = 1; "set_epoch"
    return x
'''


def test_comments_and_docstrings_are_no_code() -> None:
    code = code_of(ast.parse(TEXT), TEXT)
    assert code.count("set_epoch") == 2  # two strings that are not alone in their lines
    assert code.splitlines()[2].rstrip() == 'NAME = "# set_epoch"'
    assert code.count("\n") == TEXT.count("\n")


def test_other_ends_of_lines() -> None:
    for end in ("\r", "\r\n"):
        text = TEXT.replace("\n", end)
        assert code_of(ast.parse(text), text) == code_of(ast.parse(TEXT), TEXT)
