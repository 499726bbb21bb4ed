"""One module a codemod, with a constant CODEMOD; `_` marks what codemods share."""
