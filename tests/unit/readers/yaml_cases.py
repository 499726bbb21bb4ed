"""Configurations of trainers in YAML, and what they say."""

from __future__ import annotations

from pathlib import Path
from pkgutil import resolve_name

from program_files import entries_of

_ENTRIES = entries_of(Path(__file__).with_suffix(".md"))
TEXTS = {entry.title: entry.text for entry in _ENTRIES}
CASES = [(resolve_name(entry.of), entry.text, entry.values) for entry in _ENTRIES]
"""Readers, texts, and values by field; None is not said."""
