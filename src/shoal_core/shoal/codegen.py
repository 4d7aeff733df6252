"""CasADi functions turned into machine code once, cached by content, shared safely by many processes."""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
import threading
import warnings
import weakref
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, cast

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from shoal.errors import ShoalWarning

FLAGS = ("-O3", "-march=native", "-fno-math-errno", "-fPIC", "-shared")
STRICT_FLAGS = (*FLAGS, "-ffp-contract=off")  # rounds as numpy does


def cache_directory() -> Path:
    """$SHOAL_CACHE, else the user's cache folder; never the working directory (many nodes start together)."""
    if chosen := os.environ.get("SHOAL_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "shoal"


@lru_cache(maxsize=1)
def compiler() -> str | None:
    """The C compiler's path, or None: then CasADi's virtual machine does the work. SHOAL_COMPILER=off forces that."""
    chosen = os.environ.get("SHOAL_COMPILER", "")
    if chosen == "off":
        return None
    return shutil.which(chosen) if chosen else (shutil.which("gcc") or shutil.which("cc") or shutil.which("clang"))


@lru_cache(maxsize=1)
def _machine() -> str:
    """What -march=native depends on: the CPU's features and the compiler."""
    features = platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        features += next((line for line in cpuinfo.read_text().splitlines() if line.startswith(("flags", "Feat"))), "")
    path = compiler()
    version = subprocess.run([path, "--version"], capture_output=True, text=True).stdout if path else ""
    return features + version


class Compiling(Exception):
    """A library that is not there yet: a thread makes it. Raised only after `compile_in_background`."""

    def __init__(self, target: Path, thread: threading.Thread) -> None:
        super().__init__(f"{target.name} is being compiled")
        self.target, self._thread = target, thread

    @property
    def done(self) -> bool:
        """Made, or given up."""
        return not self._thread.is_alive()


_background = False
_threads: dict[Path, threading.Thread] = {}  # running, or ended without a library
_later: dict[ca.Function, tuple[Path, weakref.WeakSet[Buffered]]] = {}  # interpreted until their library is there


def compile_in_background(on: bool = True) -> None:
    """From now on nobody waits for code that depends on the vehicle; for programs that steer, not for simulations.

    Functions are interpreted until they are compiled (see `take_compiled`), who needs machine code gets `Compiling`.
    """
    global _background
    _background = on


def take_compiled() -> None:
    """Functions whose machine code has come use it from now on; costs nothing while there are none."""
    for function, (target, users) in list(_later.items()):
        thread = _threads.get(target)
        if thread is not None and thread.is_alive():
            continue
        if target.is_file():
            for user in list(users):
                user.replace(ca.external(function.name(), str(target)))
        del _later[function]


def build_shared(
    name: str, key: str, write_sources: Any, flags: Sequence[str] = FLAGS, may_wait: bool = True
) -> Path | None:
    """The cached library for `key`; made by `write_sources(folder) -> [C files]` if missing. None: no compiler.

    Without `may_wait` it is made in the background, if that is switched on; then `Compiling` is raised.
    """
    path = compiler()
    if path is None:
        return None
    digest = hashlib.sha256("\0".join([key, *flags, _machine(), ca.CasadiMeta.version()]).encode()).hexdigest()[:24]
    folder = cache_directory()
    target = folder / f"{name}_{digest}.so"
    if target.is_file():
        return target
    if _background and not may_wait:
        thread = _threads.get(target)
        if thread is None:
            arguments = path, target, name, write_sources, flags
            thread = _threads[target] = threading.Thread(target=_build_or_tell, args=arguments, daemon=True)
            thread.start()
        elif not thread.is_alive():
            return target if target.is_file() else None
        raise Compiling(target, thread)
    return _build_or_tell(path, target, name, write_sources, flags)


def _build_or_tell(path: str, target: Path, name: str, write_sources: Any, flags: Sequence[str]) -> Path | None:
    """The library, or None and a warning."""
    folder = target.parent
    try:
        _build(path, target, write_sources, flags)
    except OSError as error:
        _tell_slow(f"{folder}: cannot be written ({error.strerror}); expected a cache folder (set SHOAL_CACHE)")
        return None
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip().splitlines() or ["no message"])[-1]
        _tell_slow(f"{path}: failed on {name} ({last}); expected a working C compiler (set SHOAL_COMPILER)")
        return None
    return target


@cache
def load_library(source: Path, flags: Sequence[str] = FLAGS) -> ctypes.PyDLL | None:
    """A hand-written C file, compiled (or found in the cache) and loaded; None where there is no compiler.

    Its functions take ints, bytes and `doubles` as they are; they keep the GIL, so they should be short.
    """
    text = source.read_text(encoding="utf-8")

    def write(folder: Path) -> list[Path]:
        copy = folder / source.name
        copy.write_text(text, encoding="utf-8")
        return [copy]

    target = build_shared(source.stem, text, write, flags)
    return None if target is None else ctypes.PyDLL(str(target))


def doubles(count: int) -> Any:  # a ctypes array
    """Memory for C to write to, all zero; `np.frombuffer` makes an array of it without copying."""
    return _doubles(count)()


def as_bytes(array: NDArray[Any]) -> bytes:
    """Its numbers as C reads them, row by row. To copy a small array takes less time than to ask for its address."""
    return array.tobytes() if array.dtype.char == "d" else array.astype(np.float64).tobytes()


@lru_cache(maxsize=1024)
def _doubles(count: int) -> type[ctypes.Array[ctypes.c_double]]:
    return ctypes.c_double * count


def _build(path: str, target: Path, write_sources: Any, flags: Sequence[str]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one process compiles, the others wait and find the result
        if target.is_file():
            return
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            sources = write_sources(Path(scratch))
            made = Path(scratch) / "made.so"
            command = [path, *flags, *map(str, sources), "-o", str(made), "-lm"]
            subprocess.run(command, capture_output=True, text=True, check=True)
            os.replace(made, target)  # at once: nobody sees half a file


def _tell_slow(reason: str) -> None:
    """Working without machine code is allowed, but not in silence: it is some twenty times slower."""
    warnings.warn(f"{reason}. Going on without machine code, which is slower", ShoalWarning, stacklevel=4)


def compiled(function: ca.Function, flags: Sequence[str] = FLAGS) -> ca.Function:
    """The same function as machine code where there is a compiler, else unchanged."""

    def write(folder: Path) -> list[Path]:
        generator = ca.CodeGenerator("generated.c")
        generator.add(function)
        generator.generate(str(folder) + os.sep)
        return [folder / "generated.c"]

    try:
        target = build_shared(function.name(), function.serialize(), write, flags, may_wait=False)
    except Compiling as later:
        _later[function] = later.target, weakref.WeakSet()
        return function
    return function if target is None else ca.external(function.name(), str(target))


class Buffered:
    """A CasADi function with fixed numpy buffers: a call costs about a microsecond instead of a hundred.

    Inputs are written in place (`inputs[i][...] = value`), outputs are overwritten by each call. Matrices are stored
    column by column, as CasADi does; sparse arguments hold their non-zeros only.
    """

    def __init__(
        self,
        function: ca.Function,
        inputs: Mapping[int, NDArray[np.float64]] | None = None,
        outputs: Mapping[int, NDArray[np.float64]] | None = None,
    ) -> None:
        """Arrays that are given are used instead of new ones: what one function writes, another may read."""
        self.inputs = _buffers([function.nnz_in(i) for i in range(function.n_in())], inputs or {})
        self.outputs = _buffers([function.nnz_out(i) for i in range(function.n_out())], outputs or {})
        self.replace(function)
        if _later and function in _later:
            _later[function][1].add(self)

    def replace(self, function: ca.Function) -> None:
        """Another form of the same function, on the same arrays."""
        self.function = function
        buffer, self.call = function.buffer()
        self._buffer = cast(Any, buffer)  # its stubs want a size that a memoryview brings along
        for i, array in enumerate(self.inputs):
            self._buffer.set_arg(i, array.data)
        self.reset_outputs()

    def reset_outputs(self) -> None:
        """Zero and hand over the output arrays again; needed before each call of plugins that spoil their pointers."""
        for i, array in enumerate(self.outputs):
            array[:] = 0.0
            self._buffer.set_res(i, array.data)

    def stats(self) -> dict[str, Any]:
        """What a solver says of its last call."""
        return cast(dict[str, Any], self._buffer.stats())


def _buffers(sizes: Sequence[int], given: Mapping[int, NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    """Arrays of these sizes; those given must be one-dimensional and contiguous."""
    for i, array in given.items():
        if array.shape != (sizes[i],) or not array.flags.c_contiguous or array.dtype != np.float64:
            raise ValueError(f"buffer {i}: {array.dtype} {array.shape}, expected float64 ({sizes[i]},), contiguous")
    return [given[i] if i in given else np.zeros(size) for i, size in enumerate(sizes)]
