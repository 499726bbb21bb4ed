"""Experimental migrations, which `crosscast migrate --experimental` applies."""
