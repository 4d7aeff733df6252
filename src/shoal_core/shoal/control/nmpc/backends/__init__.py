"""Ways to solve the optimal control problem; a back end is one file."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from shoal.codegen import compiler
from shoal.control.nmpc.nmpc import Backend
from shoal.control.nmpc.problem import Problem
from shoal.errors import ShoalError

BACKENDS = {
    "kernel": ("shoal.control.nmpc.backends.kernel", "Kernel"),
    "hpipm": ("shoal.control.nmpc.backends.hpipm", "Hpipm"),
    "hpipm-vm": ("shoal.control.nmpc.backends.hpipm", "HpipmVm"),  # -vm: as where there is no compiler
    "ipopt": ("shoal.control.nmpc.backends.nlp", "Ipopt"),
    "ipopt-vm": ("shoal.control.nmpc.backends.nlp", "IpoptVm"),
    "fatrop": ("shoal.control.nmpc.backends.nlp", "Fatrop"),
    "fatrop-vm": ("shoal.control.nmpc.backends.nlp", "FatropVm"),
}


def choose_backend(name: str) -> Callable[[Problem], Backend]:
    """By name; `auto` is the compiled kernel where there is a C compiler, else HPIPM on CasADi's virtual machine."""
    if name == "auto":
        name = "kernel" if compiler() else "hpipm"
    if name not in BACKENDS:
        raise ShoalError(f"backend = '{name}': unknown; expected auto or one of {', '.join(BACKENDS)}")
    module, cls = BACKENDS[name]
    factory: Callable[[Problem], Backend] = getattr(import_module(module), cls)
    return factory
