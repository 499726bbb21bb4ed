"""`python -m crosscast`."""

import sys

if __name__ == "__main__":
    try:
        from crosscast.cli import run
    except KeyboardInterrupt:  # within the imports, before `run` can answer it
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    run()
