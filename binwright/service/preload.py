"""Imported once by the process that forks workers, so that they start with everything imported and compiled."""

import os
import signal

from binwright.service.limits import die_with_parent

die_with_parent(int(os.environ.get("BINWRIGHT_SERVER", os.getppid())))
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # workers inherit this until they can answer one

from binwright.service.worker import warm_up  # noqa: E402  # takes seconds, in which the server may end

warm_up()
