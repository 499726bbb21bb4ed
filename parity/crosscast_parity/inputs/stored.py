"""Rows of any source as an npz file, read as an emitted script reads them."""

from __future__ import annotations
