"""Edits of notebooks: cells change, everything else stays byte for byte."""

from __future__ import annotations

import json

import pytest

from crosscast.messages.source import Source
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.notebook_cells import apply_to_notebook
from crosscast_reading.pysource.syntax.notebook import cells_as_source

NOTEBOOK = """\
{
 "cells": [
  {"cell_type": "markdown", "source": ["# cell 1\\n", "caf\\u00e9"], "metadata": {}},
  {
   "cell_type": "code",
   "source": [
    "%matplotlib inline\\n",
    "import a\\n",
    "import b"
   ],
   "outputs": [ {"text": ["import a\\n"], "n": 1.50} ]
  },
  {"cell_type": "code", "execution_count": 7},
  {"cell_type": "code", "source": "x = 1\\nfor i in y:\\n    step(i)"},
  {"cell_type": "code", "source": ["%%bash\\n", "ls"]},
  {"cell_type": "code", "source": []}
 ],
 "metadata": { "kernelspec":{"name":"python3"} }
}
"""


def joined(text: str) -> list[str]:
    cells, _ = cells_as_source(Source("a.ipynb", text))
    assert cells is not None
    return cells.text.split("\n")


def edit(line: int, column: int, end: int, end_column: int, text: str) -> Edit:
    return Edit(
        file="a.ipynb", line=line, column=column, end_line=end, end_column=end_column, text=text
    )


def line_of(text: str, after: int = 0) -> int:
    return joined(NOTEBOOK).index(text, after) + 1


def test_a_line_changes_and_nothing_else() -> None:
    at = line_of("import a")
    new = apply_to_notebook(NOTEBOOK, [edit(at, 8, at, 9, "c")])
    assert new == NOTEBOOK.replace('    "import a\\n",', '    "import c\\n",')


def test_the_last_line_of_a_cell_goes_with_its_end() -> None:
    at = line_of("import b")
    new = apply_to_notebook(NOTEBOOK, [edit(at, 1, at + 1, 1, "")])
    assert new == NOTEBOOK.replace('"import a\\n",\n    "import b"', '"import a"')


def test_lines_are_inserted_in_the_layout_of_the_cell() -> None:
    at = line_of("import b")
    new = apply_to_notebook(NOTEBOOK, [edit(at, 1, at, 1, "import é\n")])
    assert new == NOTEBOOK.replace('    "import b"', '    "import \\u00e9\\n",\n    "import b"')
    after = apply_to_notebook(NOTEBOOK, [edit(at + 1, 1, at + 1, 1, "scale = 1\n")])
    assert after == NOTEBOOK.replace('"import b"', '"import b\\n",\n    "scale = 1"')


def test_a_cell_that_is_one_text_stays_one() -> None:
    at = line_of("x = 1")
    edits = [edit(at, 5, at, 6, "2"), edit(at + 2, 5, at + 3, 1, "run(i)\n    step(i)\n")]
    new = apply_to_notebook(NOTEBOOK, edits)
    assert new == NOTEBOOK.replace(
        '"x = 1\\nfor i in y:\\n    step(i)"', '"x = 2\\nfor i in y:\\n    run(i)\\n    step(i)"'
    )


@pytest.mark.parametrize(
    "change",
    [
        edit(line_of("# %matplotlib inline"), 3, line_of("# %matplotlib inline"), 5, "x"),
        edit(line_of("import b"), 1, line_of("x = 1"), 2, "y"),
        edit(line_of("# %%bash"), 1, line_of("# %%bash"), 1, "import c\n"),
        edit(line_of("# cell 3"), 1, line_of("# cell 3") + 1, 1, ""),
    ],
    ids=["magic", "two cells", "before a cell magic", "the number of a cell"],
)
def test_what_is_no_line_of_one_cell_is_left(change: Edit) -> None:
    assert apply_to_notebook(NOTEBOOK, [change]) is None


def test_what_is_no_notebook_is_left() -> None:
    for text in ("", "{}", "[1]", '{"cells": 3}'):
        assert apply_to_notebook(text, [edit(1, 1, 1, 1, "x")]) is None


def test_old_notebooks_have_worksheets_and_inputs() -> None:
    cell = {"cell_type": "code", "input": ["import a\n", "import b"]}
    text = json.dumps({"worksheets": [{"cells": [cell]}]})
    new = apply_to_notebook(text, [edit(3, 8, 3, 9, "c")])
    assert new == text.replace("import b", "import c")


def test_a_line_that_goes_on_with_a_remainder_is_no_magic() -> None:
    rows = ["print(\n", '    "%d"\n', "    % n\n", ")"]
    cell = {"cell_type": "code", "source": rows}
    source, _ = cells_as_source(Source("a.ipynb", json.dumps({"cells": [cell]})))
    assert source is not None
    assert source.text == "# cell 1\n" + "".join(rows) + "\n"
