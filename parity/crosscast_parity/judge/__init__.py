"""Records of a comparison, cached judgements, and the verdict."""
