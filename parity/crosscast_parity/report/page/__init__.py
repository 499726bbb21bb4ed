"""What the page of a report shows: sections of text, tables and figures, ready to be printed."""
