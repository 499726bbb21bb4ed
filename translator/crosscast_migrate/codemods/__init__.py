"""One module per codemod with a constant CODEMOD; names of shared modules start with `_`."""
