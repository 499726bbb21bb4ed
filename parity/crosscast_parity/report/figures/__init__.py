"""The figures of a report, drawn from plain numbers."""
