"""What keeps an agent from taking a batch with it: a limit to what it thinks."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

LOOKS = 4
"""How many times within the limit it is looked whether an agent got on."""
STARTING = 600.0
"""Seconds that an agent has to start, at least: kernels may be compiled then."""


class TooLong(BaseException):
    """An agent thought for longer than the limit. No `Exception`, since agents may catch those and go on."""


@contextmanager
def limited(seconds: float, state: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Raise `TooLong` when `state` has stayed the same for so many seconds, up to a quarter more.

    It hears signals, so it watches a main thread only, and code that returns to Python now and then. Where numba loses
    an interrupt, since it came while a call was prepared, it is raised in place of the error that comes of that.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    seen, times, over, interrupts = state(), 0, False, list[BaseException]()

    def look(number: int, frame: FrameType | None) -> None:
        nonlocal seen, times
        now = state()
        times = times + 1 if now == seen else 0
        seen = now
        if times >= LOOKS and not over:
            times = 0  # the next time after as long again, since an agent may catch this one
            raise TooLong

    def interrupt(number: int, frame: FrameType | None) -> None:
        try:
            handlers[number](number, frame)
        except BaseException as error:
            interrupts.append(error)
            raise

    numbers = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
    handlers = {int(number): handler for number in numbers if callable(handler := signal.getsignal(number))}
    before = signal.signal(signal.SIGALRM, look)
    try:
        for number in handlers:
            signal.signal(number, interrupt)
        signal.setitimer(signal.ITIMER_REAL, seconds / LOOKS, seconds / LOOKS)
        yield
    except BaseException:
        if interrupts:
            raise interrupts[0] from None
        raise
    finally:
        try:
            over = True
        finally:  # also if time was over just here
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            for number, handler in handlers.items():
                if signal.getsignal(number) is interrupt:
                    signal.signal(number, handler)
