"""Compiles kernels with numba and keeps them for the next process. Nothing outside this package imports numba."""

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

from numba import types
from numba.core import errors, sigutils
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.types.function_type import CompileResultWAP
from numba.core.typing import signature
from numba.cpython.unsafe import tuple as unsafe

from binwright.simcore.agent_calls import rare_collection
from binwright.simcore.errors import KernelError, from_working_folder, short
from binwright.simcore.file_tracking import is_ours
from binwright.simcore.jit import linking
from binwright.simcore.jit.kernel_cache import KernelCache, stamp_of

# Numba calls kernels that take compiled functions experimental. Our tests compare them with a reference.
warnings.filterwarnings("ignore", "First-class function type feature is experimental")
# Where colorama is installed, numba exchanges sys.stdout and sys.stderr for a moment at each error that it makes, which
# are thousands while it compiles: a stream that another thread puts there meanwhile would be lost.
errors.ColorShell = nullcontext  # type: ignore[attr-defined]
linking.install()

F = TypeVar("F", bound=Callable[..., object])

tuple_setitem: Any = unsafe.tuple_setitem
"""(tuple, place, number) -> tuple: the only way in which a kernel can fill a tuple of any length."""
ALLOWED = (
    "It can use numbers, arrays, loops, most of numpy, and functions with @kernel above them "
    "(`from binwright.simcore.jit import kernel`): page 'An agent of your own'."
)
_ahead = ContextVar("ahead", default=True)


class Kernel(CPUDispatcher):  # type: ignore[misc]  # numba's classes have no types
    """Compiles a function, with one form for each kind of arguments.

    Numba makes further forms of a function for read-only arrays, for numbers that are written out in a call, and for
    numbers of 32 bits. Here there are none: no kernel writes to what it says is unchanged, and each form takes up to a
    second to compile, with all that it calls.
    """

    def __init__(self, function: Callable[..., object], callers: bool = True, **options: Any) -> None:
        """Make the kernel of a function; `callers` tells whether Python can call it, and not only other kernels."""
        wrappers = {"no_cpython_wrapper": not callers, "no_cfunc_wrapper": not callers}
        super().__init__(py_func=function, targetoptions={"nopython": True, "nogil": True, **wrappers, **options})
        self._within = Kernel(function, False, **options) if callers else self
        self.incremental: Kernel | None = None
        """Answers the same, told what has changed: `agents.rules.cheapest_place` makes it. None: there is none."""
        self.worth_it = 0
        """From so many servers on `incremental` is faster."""
        self._stamp: str | None = None
        self._cache = KernelCache(self)

    @property
    def stamp(self) -> str:
        """A digest of all that determines the machine code, but for the types of the arguments."""
        with global_compiler_lock:
            if self._stamp is None:
                self._stamp = "itself"  # what a kernel that calls itself finds here
                try:
                    self._stamp = stamp_of(self.py_func, self.targetoptions)
                except BaseException:
                    self._stamp = None
                    raise
            return self._stamp

    def typeof_pyval(self, value: object) -> Any:
        """Return numba's type of an argument from Python, where read-only arrays count as writable ones."""
        return value.kind if isinstance(value, Argument) else _writable(super().typeof_pyval(value))

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return what a call in another kernel is compiled to."""
        if self._within is not self:
            return self._within.get_call_template(args, kws)
        return super().get_call_template(tuple(map(_plain, args)), {name: _plain(kind) for name, kind in kws.items()})

    def fold_argument_types(self, args: Any, kws: Any) -> Any:
        """Return the types by which a kernel that calls itself finds the form that is being compiled."""
        return super().fold_argument_types(tuple(map(_plain, args)), {name: _plain(kind) for name, kind in kws.items()})

    def get_overload(self, sig: Any) -> Any:
        """Return the function that a call in another kernel enters."""
        return super().get_overload(sig) if self._within is self else self._within.get_overload(sig)

    @property
    def is_compiling(self) -> Any:
        """How many forms are being compiled; a kernel that calls itself then finds itself."""
        return self._within._compiling_counter

    def compile(self, sig: Any) -> Any:
        """Compile the form for these types of arguments, or read it from disk; only one process compiles it."""
        arguments, _ = sigutils.normalize_signature(sig)
        if (known := self.overloads.get(tuple(arguments))) is not None:
            return known.entry_point
        with global_compiler_lock, self._cache.alone(arguments), rare_collection():
            if not self.py_func.__qualname__.endswith(self.stamp[:16]):
                # Machine code is found by name, and the code on disk may be of an older function of the same name.
                self.py_func.__qualname__ += f"_{self.stamp[:16]}"
            try:
                return super().compile(sig)
            except errors.NumbaError as error:
                if is_ours(Path(self.py_func.__code__.co_filename).resolve()):
                    raise
                raise mistake_in(self.py_func, error) from error


class Argument(CompileResultWAP):
    """A form of a kernel that other kernels take as an argument.

    It knows its type, which numba would make anew in every call that it is given to.
    """

    def __init__(self, compiled: Any) -> None:
        super().__init__(compiled)
        self.kind = types.FunctionType(self.signature())


def _plain(kind: Any) -> Any:
    """Return the type that stands for an argument's in a call: of no number in particular, and of whole ones int64."""
    kind = types.unliteral(kind)
    return types.int64 if isinstance(kind, types.Integer) and kind.signed else kind


def _writable(kind: Any) -> Any:
    if isinstance(kind, types.Array):
        return kind if kind.mutable else kind.copy(readonly=False)
    if isinstance(kind, types.BaseTuple):
        parts = [_writable(part) for part in kind]
        if isinstance(kind, types.BaseNamedTuple):
            return types.BaseTuple.from_types(parts, kind.instance_class)
        return types.BaseTuple.from_types(parts)
    return kind


class Decorator(Protocol):
    """Turns a function of arrays and numbers into a kernel, which is called as it is."""

    def __call__(self, function: F) -> F: ...


def _decorator(**options: Any) -> Decorator:
    """Make what compiles with these options of numba."""
    return cast(Decorator, partial(Kernel, **options))


kernel = _decorator()
"""Compiles a function of arrays and numbers, and keeps the machine code on disk for the next process."""
inlined = _decorator(forceinline=True)
"""Puts its code in place of every call of it in another kernel.

What is a constant in the call is then one in the function: a loop over the usual two nodes is three times as fast.
"""
lean = _decorator(_nrt=False)
"""For a function that makes no arrays: it does not count who holds those it is given.

Counting takes two atomic operations whenever an array is taken out of a tuple: a search that hands such tuples around
is four to ten times as fast without.
"""
allocating = _decorator(_nrt=True)
"""For a function that makes or takes new arrays, so that lean ones can call it.

Numba compiles what is called as it does who calls it, unless it says otherwise.
"""
lean_inlined = _decorator(forceinline=True, _nrt=False)
lean_numeric = _decorator(_nrt=False, error_model="numpy")
"""Division by zero gives infinity or no number, as in numpy."""
lean_numeric_inlined = _decorator(forceinline=True, _nrt=False, error_model="numpy")
reordering = _decorator(fastmath={"contract", "reassoc", "nsz", "arcp"}, error_model="numpy")
"""For a function whose sums may be added up in any order: faster, with other last bits."""


def named_after(function: Callable[..., object], form: Callable[..., object], ending: str = "") -> Any:
    """Name a form of a function as that, and return it: kept machine code is named after what somebody wrote."""
    form.__module__, form.__doc__ = function.__module__, function.__doc__
    form.__name__, form.__qualname__ = function.__name__ + ending, function.__qualname__ + ending
    return form


@contextmanager
def postponed() -> Iterator[None]:
    """Keep `prepared` from compiling within it, for agents that are started only to see whether they refuse to."""
    token = _ahead.set(False)
    try:
        yield
    finally:
        _ahead.reset(token)


def prepared(compiled: F, *arguments: object) -> F:
    """Return the machine code of a kernel for arguments of these types, which does not check types at every call.

    That check takes longer than most decisions: .27 us for two arrays and a tuple, 4.5 us for a network's tuples of
    arrays. Without it arguments of other types go unnoticed, so use it only for arrays that the ledger lays out.
    """
    dispatcher = cast(Any, compiled)
    if not _ahead.get():
        return compiled
    return cast(F, dispatcher.compile(tuple(map(dispatcher.typeof_pyval, arguments))))


def mistake_in(function: Callable[..., object], error: errors.NumbaError) -> KernelError:
    """Put what numba has against a function from outside in one line, with the line of the file that it is about."""
    code, text = function.__code__, re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    problem, *more = [part for line in text.splitlines() if (part := line.strip()) and not part.startswith("Failed in")]
    if problem.endswith("signature:") and more:
        problem += f" {more[0].removeprefix('>>> ')}"
    problem = problem.partition(" Cannot determine")[0]  # of which Python type it is
    places = re.findall(r'File "([^"]+)", line (\d+)', text)
    file = Path(code.co_filename).resolve()
    line = next((int(line) for name, line in places if Path(name).resolve() == file), code.co_firstlineno)
    problem = f"{code.co_qualname} cannot be compiled: {short(problem, 300)}"
    return KernelError(problem, file=from_working_folder(code.co_filename), line=line, remedy=ALLOWED)


def generated(function: F) -> F:
    """Compile a function that was made at run time, for other kernels to call; division by zero works as in numpy.

    It has the same form for all callers, as somebody waits for its compilation.
    """
    return cast(F, Kernel(function, False, no_cfunc_wrapper=False, error_model="numpy"))


def is_kernel(function: object) -> bool:
    """Tell whether `kernel` made this."""
    return isinstance(function, Kernel)


def callback(compiled: F, result: str, *arguments: str) -> F:
    """Return a kernel for arguments of these types in a form that other kernels take as an argument.

    Those see only its types, and need not be compiled again for another kernel.
    """
    taken, returned = sigutils.normalize_signature(f"{result}({', '.join(arguments)})")
    dispatcher = cast(Any, compiled)
    dispatcher.compile(taken)
    return cast(F, Argument(dispatcher.get_compile_result(signature(returned, *taken))))
