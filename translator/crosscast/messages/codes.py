"""The diagnostic codes of the core, each with a stable meaning and a paragraph of help.

Ranges: CC0xx reading a file, CC1xx the recipe's fields, CC2xx fields against each other,
CC3xx what a backend adapts or cannot express, CC4xx this machine, CC45x memory, CC5xx writing
files, CC6xx data sets, CC7xx parity, CC8xx plans, CC95x lint, CC96x training states. Backends
define their own CC3xx codes with their rows.
"""

from __future__ import annotations

from crosscast.messages.code import Code
from crosscast.messages.recipe_codes import RECIPE_CODES
from crosscast.messages.run_codes import RUN_CODES
from crosscast.messages.source_codes import SOURCE_CODES

__all__ = ["CODES", "Code"]

CODES: dict[str, Code] = {row.code: row for row in (*RECIPE_CODES, *RUN_CODES, *SOURCE_CODES)}
