"""The codemods of apex and of half precision by hand, one module each."""
