"""Third-party trainers: adapters that let them take part, and the conformance table about them."""

from __future__ import annotations

from crosscast_parity.adapters.registry import ADAPTERS, Adapter

__all__ = ["ADAPTERS", "Adapter"]
