"""Functions written into programs: operations that `paddle` offers only for other graphs."""

from __future__ import annotations

from crosscast.migrate.paddle_names.helper import Helper

HELPERS: tuple[Helper, ...] = ()
