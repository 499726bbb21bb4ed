"""Records of a comparison, judgements that are kept, and the verdict."""
