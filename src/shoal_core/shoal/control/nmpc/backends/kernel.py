"""The compiled real-time iteration: CasADi's generated derivatives and our structured QP solver, one shared object."""

from __future__ import annotations

import ctypes
import os
import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from shoal.codegen import build_shared
from shoal.control.nmpc.formulation import SUBSTEPS, Formulation
from shoal.control.nmpc.problem import Problem

SOURCES = [Path(__file__).with_name(name) for name in ("rti_kernel.c", "linearise.h", "qp.h", "riccati.h")]
WIDEST = 8  # doubles in a vector register: rows are padded to a multiple of it
FLAGS = ("-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-fassociative-math", "-fno-signed-zeros")


@dataclass(frozen=True)
class KernelLibrary:
    """The loaded code and the work space it asks for."""

    step: ctypes._CFuncPtr  # type: ignore[name-defined]
    stage_bytes: int
    iw_size: int
    w_size: int


@lru_cache(maxsize=16)  # what is raised is not kept
def load_kernel(formulation: Formulation) -> KernelLibrary | None:
    """Compile (or find in the cache) and load; None where there is no compiler. May raise codegen.Compiling."""
    columns = -(-(formulation.nx - formulation.first_dependence + formulation.nu) // WIDEST) * WIDEST
    functions = [formulation.ode_rows(columns), formulation.cost(), formulation.terminal()]
    sources = {path.name: path.read_text(encoding="utf-8") for path in SOURCES}
    defines = {
        "NU": formulation.nu,
        "NX": formulation.nx,
        "NROW": len(formulation.row_prices),
        "ROW_STATES": formulation.row_states,
        "ROW_PRICES": ",".join(map(str, formulation.row_prices)),
        "PRICES": len(formulation.prices),
        "NS": sum(formulation.stage_sizes.values()),
        "NG": sum(formulation.global_sizes.values()),
        "FIRST": formulation.first_dependence,
        "NC": columns,
        "SUBSTEPS": SUBSTEPS,
    }
    flags = [*FLAGS, "-fPIC", "-shared", *(f"-D{k}={v}" for k, v in defines.items())]

    def write(folder: Path) -> list[Path]:
        generator = ca.CodeGenerator("stages.c")
        for function in functions:
            generator.add(function)
        generator.generate(str(folder) + os.sep)
        for name, text in sources.items():
            (folder / name).write_text(text, encoding="utf-8")
        return [folder / "stages.c", folder / SOURCES[0].name]

    key = "".join(sources.values()) + "".join(f.serialize() for f in functions)
    target = build_shared("rti_kernel", key, write, flags, may_wait=False)
    if target is None:
        return None
    library = ctypes.CDLL(str(target))
    return KernelLibrary(
        library.rti_step,
        library.stage_bytes(),
        max(f.sz_iw() for f in functions) + 1,
        max(f.sz_w() for f in functions) + 1,
    )


class Kernel:
    """The compiled back end: one C call per iteration on the problem's own arrays."""

    name = "kernel"

    def __init__(self, problem: Problem) -> None:
        library = load_kernel(problem.formulation)
        if library is None:
            raise RuntimeError("no C compiler: the compiled back end is not available")
        count = len(problem.steps_s)
        p = self._problem = problem
        self.sizes = (library.stage_bytes * (count + 1) // 8 + 8, library.iw_size, library.w_size)
        self._step = library.step
        arrays = [p.x, p.u, p.steps_s, p.stages, p.globals, p.weights, p.limits, p.free, p.penalties, p.max_step]
        self._head = [ctypes.c_int(count), *map(_pointer, arrays)]
        self._report = _pointer(p.report)

    def iterate(self, max_iterations: int, tolerance: float) -> int:
        """One real-time iteration; 0 solved, 1 iteration limit (usable), ≥ 2 failed (guess unchanged)."""
        space = workspace(self.sizes)
        return int(
            self._step(
                *self._head, ctypes.c_int(max_iterations), ctypes.c_double(tolerance), *space.pointers, self._report
            )
        )


class Workspace:
    """Scratch memory of one size."""

    def __init__(self, sizes: tuple[int, int, int]) -> None:
        stages, integers, doubles = sizes
        self.stages = np.zeros(stages)
        self._rest = np.zeros(integers, dtype=np.int64), np.zeros(doubles)
        self.pointers = tuple(_pointer(a) for a in (self.stages, *self._rest))


_of_thread = threading.local()


def workspace(sizes: tuple[int, int, int]) -> Workspace:
    """Shared by all controllers of a thread: it is a quarter of a megabyte, and ten of them do not fit the cache."""
    spaces: dict[tuple[int, int, int], Workspace] = _of_thread.__dict__.setdefault("spaces", {})
    if sizes not in spaces:
        spaces[sizes] = Workspace(sizes)
    return spaces[sizes]


def _pointer(array: NDArray[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
