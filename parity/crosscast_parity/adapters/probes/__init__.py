"""Programs that run a trainer on a toy, one process each; see `crosscast_parity.adapters.cases`."""
