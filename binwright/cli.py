"""The command line: parses, calls, prints. What it does can be done from Python in as few lines."""

import argparse
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from io import TextIOWrapper
from types import FrameType
from typing import TextIO

import binwright
from binwright.parser import parser
from binwright.simcore.errors import UserError

FAILED, MISTAKE, BUG, INTERRUPTED, TERMINATED = 1, 2, 70, 130, 143
"""Exit codes: some run failed; the user has to mend something; we have to; Ctrl-C; SIGTERM, of a batch system for one.
"""
ENDS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


RESUMED = ("reproduce", "run", "size", "train", "tune")
"""The commands that go on where they were interrupted."""


class Terminated(KeyboardInterrupt):
    """SIGTERM came, or the terminal is gone (SIGHUP): whatever knows to end in order at Ctrl-C does so."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.code = 128 + number


def main(arguments: Sequence[str] | None = None) -> int:
    """Answer a command; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and _is_strict(stream):
            stream.reconfigure(errors="replace")  # a terminal that knows no ± shows ?
    top = parser()
    args = top.parse_args(arguments)
    try:
        with _terminable():
            code = _answer(top, args)
            sys.stdout.flush()
    except UserError as error:
        for mistake in error.each():
            name = (mistake.key or "").partition(" ")[0]
            is_set = getattr(args, name.replace("-", "_"), True) not in (None, [])
            if mistake.file is None and f"--{name}" in args.parser.options and is_set:
                mistake.key = f"--{mistake.key}"  # Python has it without dashes
        message, code = str(error), MISTAKE
    except KeyboardInterrupt as why:
        message = "Interrupted." + " Run the same command to resume." * (args.command in RESUMED)
        code = why.code if isinstance(why, Terminated) else INTERRUPTED
    except BrokenPipeError:
        _without(sys.stdout)  # its reader went away, `| head` for one
        return 0
    except OSError as error:
        where = str(error.filename or "what this command prints")
        message, code = f"{where}: {os.strerror(error.errno) if error.errno else error}", MISTAKE
        if not error.filename:
            _without(sys.stdout)
    except UnicodeEncodeError as error:
        message, code = f"{error.object!r}: is not UTF-8\n  Rename that file or folder.", MISTAKE
    except MemoryError as error:
        remedy = "Ask for less at a time: fewer servers, requests, machines of a network, or runs at a time (--jobs)."
        message, code = f"there is not enough memory{f': {error}' if str(error) else ''}\n  {remedy}", MISTAKE
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":  # Polars' is no Exception
            raise
        problem = f"this should not have happened: {error!r}"
        message = f"{problem}\n  It is a mistake of Binwright's. Please report it with\n{traceback.format_exc()}"
        code = BUG
    else:
        return code
    from binwright.commands.console import wrapped

    try:
        print(wrapped(f"binwright: {message}", sys.stderr), file=sys.stderr, flush=True)
    except OSError:
        _without(sys.stderr)
    return code


def _is_strict(stream: TextIOWrapper) -> bool:
    """Tell whether there are letters that a stream refuses: in the locale C it takes odd file names, and no ±."""
    return stream.errors == "strict" or (stream.errors == "surrogateescape" and stream.encoding.lower() != "utf-8")


def _answer(top: argparse.ArgumentParser, args: argparse.Namespace) -> int:
    if args.version:
        print(f"binwright {binwright.__version__}")
        return 0
    if args.command is None:
        top.print_help()
        return MISTAKE
    module, _, function = args.answer.partition(".")
    from binwright.commands.console import notes

    notes.quiet = args.quiet
    try:
        code: int = getattr(import_module(f"binwright.commands.{module}"), function)(args)
    finally:
        notes.quiet = False
    return code


def _without(stream: TextIO) -> None:
    """Forget what could not be written to a stream, or Python says so once more when it ends."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


@contextmanager
def _terminable() -> Iterator[None]:
    """Within, SIGTERM and SIGHUP are `Terminated`, once: more of them do not disturb the end of the process.

    Only a main thread hears signals; `nohup` keeps SIGHUP from us.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard = [number for number in ENDS if signal.getsignal(number) is not signal.SIG_IGN]

    def terminate(number: int, frame: FrameType | None) -> None:
        for each in heard:
            signal.signal(each, signal.SIG_IGN)
        raise Terminated(number)

    before = {number: signal.signal(number, terminate) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, handler)


if __name__ == "__main__":
    sys.exit(main())
