"""What the user is told: diagnostics, their codes and places, the console."""
