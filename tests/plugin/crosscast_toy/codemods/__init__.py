"""Codemods of toygrad."""
