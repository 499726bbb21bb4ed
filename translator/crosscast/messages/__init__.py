"""Messages to the user: diagnostics with codes and locations, console output."""
