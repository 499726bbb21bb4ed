"""Output formats of a report: text, JSON, SARIF, GitHub annotations."""
