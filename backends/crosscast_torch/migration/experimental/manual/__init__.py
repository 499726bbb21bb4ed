"""Manual half precision: a half model, float32 copies of its weights, a constant loss scale."""
