"""`python -m crosscast`."""

from crosscast.cli import run

if __name__ == "__main__":
    run()
