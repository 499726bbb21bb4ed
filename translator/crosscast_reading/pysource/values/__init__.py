"""Values, as far as they can be known without running anything."""
