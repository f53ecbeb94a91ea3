"""How numba's libraries of machine code are put together: what only other kernels call becomes no code of its own.

numba optimises every function that it compiles, and turns it into machine code, before it links it into those that call
it, where all of that is done again. Most kernels, and all of numba's own helpers, are never entered from Python: for
them one function's worth of work is enough, and a first decision comes in half the time.
"""

from importlib import import_module
from typing import Any

import llvmlite.binding as llvm
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.environment import lookup_environment
from numba.core.registry import cpu_target
from numba.core.targetconfig import TargetConfig
from numba.np import arrayobj, linalg

ENVIRONMENT = "_ZN08NumbaEnv"
"""How the names begin by which compiled functions know their constants."""


class Library(JITCodeLibrary):  # type: ignore[misc]  # numba's classes have no types
    """The functions of one compilation: linked at once, optimised and turned into machine code when first entered."""

    _generated = False

    def finalize(self) -> None:
        """Link what is called, and no more: optimising comes with `_generate`, or with whoever links this."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()  # addresses of this process: such a library is not kept
        self._finalized = True

    @global_compiler_lock  # type: ignore[untyped-decorator]  # nor has its lock
    def _generate(self) -> None:
        """Make machine code."""
        self._ensure_finalized()
        if self._generated:
            return
        self._optimize_final_module()
        self._final_module.verify()
        self._finalize_final_module()
        # Functions linked into this one had no address to be told their constants at, until now.
        for variable in self._final_module.global_variables:
            if variable.name.startswith(ENVIRONMENT) and (environment := lookup_environment(variable.name)):
                self._codegen.set_env(variable.name, environment)

    def _finalize_final_module(self) -> None:
        super()._finalize_final_module()
        self._generated = True

    def get_pointer_to_function(self, name: str) -> int:
        """Find the address of a function, 0 if there is none of this name."""
        self._ensure_finalized()
        if not self._generated and any(f.name == name and not f.is_declaration for f in self._final_module.functions):
            self._generate()
        address: int = super().get_pointer_to_function(name)
        return address

    def serialize_using_object_code(self) -> Any:
        """Choose what to keep on disk: machine code if there is some, or else what other libraries link."""
        return super().serialize_using_object_code() if self._generated else self.serialize_using_bitcode()

    @classmethod
    def _unserialize(cls, codegen: Any, state: tuple[str, str, Any]) -> Any:
        name, kind, data = state
        if kind != "bitcode":
            return super()._unserialize(codegen, state)
        library = codegen.create_library(name)
        library._final_module = llvm.parse_bitcode(data)
        library._finalized = True
        return library


def install() -> None:
    """Have numba make such libraries in this process, and load its array functions without scipy.linalg.

    Numba imports that, for .2 s of every process, to know whether np.cov can be compiled. It can: scipy is installed.
    """
    looked, linalg.ensure_blas = linalg.ensure_blas, lambda: None
    try:
        import_module("numba.np.arraymath")
    finally:
        linalg.ensure_blas = looked
    codegen = cpu_target.target_context.codegen()
    set_env = codegen.set_env

    def set_if_defined(name: str, environment: object) -> None:
        if codegen._engine.is_symbol_defined(name):
            set_env(name, environment)

    codegen._library_class, codegen.set_env = Library, set_if_defined
    # The message that a slice has another shape comes without both: their text takes 2 s to compile in each process.
    arrayobj.ol_raise_with_shape_context_cpu.__code__ = arrayobj.ol_raise_with_shape_context_generic.__code__
    # Read as forty properties, they take a fifteenth of compiling: numba compares them with those of earlier functions.
    TargetConfig.values = lambda self: {key: option.default for key, option in self.options.items()} | self._values
