"""toygrad: its backend, and what is known of programs for it."""
