"""Compile what the sources of programs call, as `agents.solver.model.interpreter` defines it."""

from __future__ import annotations

from agents.solver.model import interpreter
from simcore.jit import kernel

placed, qmul, qdiv = kernel(interpreter.placed), kernel(interpreter.qmul), kernel(interpreter.qdiv)
