"""`python -m loci_looped` is `loci`, for when the command is not on the path."""

import sys

from loci_looped.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
