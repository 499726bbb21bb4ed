"""How a report is printed: text, JSON, SARIF, annotations of GitHub."""
