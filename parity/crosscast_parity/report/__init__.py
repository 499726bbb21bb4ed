"""The report: page, figures, terminal, JUnit XML, progress."""
