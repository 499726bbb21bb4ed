"""Programs whose readings are proven by a run, and misreadings that a run contradicts.

The values behind a program are wrong ones of fields of its recipe.
"""

from __future__ import annotations

from pathlib import Path

from program_files import entries_of

PROGRAMS = {entry.title: entry for entry in entries_of(Path(__file__).with_suffix(".md"))}
