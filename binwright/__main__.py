"""`python -m binwright`, and the command `binwright`."""

from __future__ import annotations

import sys

from binwright.packages import check


def main() -> int:
    """Answer the command line, once it is sure that what answers is Binwright's."""
    try:
        check()
    except ImportError as error:
        print(f"binwright: {error}.", file=sys.stderr)
        return 2
    from binwright import cli

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
