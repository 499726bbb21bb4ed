"""The figures of a report, drawn from plain numbers; nothing here knows the records of a run."""
