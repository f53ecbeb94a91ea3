"""`python -m binwright`."""

import sys

from binwright.cli import main

sys.exit(main())
