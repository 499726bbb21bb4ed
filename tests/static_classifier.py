"""A classifier in a static graph of Paddle 1, in the form of LARK's and ERNIE's scripts."""

from __future__ import annotations

from pathlib import Path

from program_files import files_in

FILES = files_in(Path(__file__).with_suffix(".md"))
"""By path; the main program comes first."""
