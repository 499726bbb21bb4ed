"""Sections of recipes whose emitted JAX step is compared with the reference interpreter."""

from __future__ import annotations

from frameworks import torch_cases
from frameworks.step_cases import Sections

CASES: dict[str, Sections] = {
    name: sections
    for name, sections in torch_cases.CASES.items()
    if "overrides" not in sections and not name.endswith(torch_cases.OLD)
}
"""Those of PyTorch that say nothing about PyTorch alone."""
MORE = torch_cases.MORE & set(CASES)
OLD = "@"
