"""`python -m armillary` is the command `armillary`."""

from armillary.cli import main

if __name__ == "__main__":
    main()
