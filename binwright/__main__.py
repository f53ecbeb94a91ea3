"""`python -m binwright`, and the command `binwright`."""

import sys

from binwright.cli import main

if __name__ == "__main__":
    sys.exit(main())
