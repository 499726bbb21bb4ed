"""The content of the HTML report: sections with text, tables and figures."""
