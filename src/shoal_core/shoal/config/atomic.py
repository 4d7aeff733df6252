"""Writing files and directories so that they are there complete or not at all, and replace only what they may.

A file is written under another name beside its own and then renamed; so is a directory. What is to be replaced must be
a regular file, or a directory that we made: renaming over a device or a FIFO would destroy it.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from shoal.errors import ShoalError

SCRATCH = ".tmp-"  # names that begin so are half-written; nobody misses what a killed process left of them
_numbers = count()
_KINDS = {
    stat.S_IFREG: "a file",
    stat.S_IFDIR: "a directory",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
}


# -- files --------------------------------------------------------------------------------------------------------


@contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """A path to write to; what is there at the end goes to the disk and takes the place of `file`."""
    target = check_file(file)
    scratch = target.with_name(f"{SCRATCH}{os.getpid()}-{next(_numbers)}{target.suffix}")
    try:
        yield scratch
        with scratch.open("rb") as handle:
            os.fsync(handle.fileno())
        os.replace(scratch, target)
    finally:
        scratch.unlink(missing_ok=True)


def write_bytes(file: Path, data: bytes) -> None:
    """In one step."""
    with replacing(file) as scratch:
        scratch.write_bytes(data)


def write_text(file: Path, text: str) -> None:
    """In one step, as UTF-8."""
    write_bytes(file, text.encode())


def write_json(file: Path, data: object, sort_keys: bool = False) -> None:
    """In one step, indented, with a newline at the end."""
    write_text(file, json.dumps(data, indent=2, sort_keys=sort_keys) + "\n")


def check_file(file: Path) -> Path:
    """Where it leads; a ShoalError unless that is a regular file or a new name."""
    target = Path(os.path.realpath(file))
    found = _kind(target)
    if found not in (None, "a file"):
        raise ShoalError(f"{_shown(file, target)}: is {found}; expected a file to write, or a new name")
    return target


def check_new_file(file: Path, given: str) -> None:
    """Before anything is computed: a ShoalError about `given` unless the file can be written, its folder made."""
    target = Path(os.path.realpath(file))
    try:
        if (found := _kind(target)) not in (None, "a file"):
            raise ShoalError(f"{given}: is {found}; expected a file to write, or a new name")
        _check_parent(given, target, "file")
    except OSError as error:
        raise ShoalError(f"{given}: cannot be written ({error.strerror}); expected a place for a file") from None


def check_folder(folder: Path, given: str) -> None:
    """The same for a folder that something new will be put into."""
    target = Path(os.path.realpath(folder))
    try:
        found = _kind(target)
        if found not in (None, "a directory"):
            raise ShoalError(f"{given}: is {found}; expected a folder, or a new name")
        _check_parent(given, target if found is None else target / "new", "folder")
    except OSError as error:
        raise ShoalError(f"{given}: cannot be written ({error.strerror}); expected a place for a folder") from None


# -- directories --------------------------------------------------------------------------------------------------


@contextmanager
def replacing_directory(folder: Path, ours: str, what: str = "directory") -> Iterator[Path]:
    """An empty directory to fill; it takes the place of `folder` at the end. See `check_directory`."""
    target = check_directory(folder, ours, what)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError as error:
        raise _cannot_write(folder, what, error) from None
    try:
        scratch.chmod(0o755)
        yield scratch
        check_directory(target, ours, what)  # minutes may have passed
        try:
            _swap_in(scratch, target)
        except OSError as error:
            raise _cannot_write(folder, what, error) from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def check_directory(folder: Path, ours: str, what: str = "directory") -> Path:
    """Where it leads; a ShoalError unless that is new, empty, or holds `ours` and so was made by us.

    Cheap: call it before computing for minutes what is to be written there.
    """
    target = Path(os.path.realpath(folder))
    try:
        found = _kind(target)
        if found is None:
            _check_parent(f"--out {folder}", target, what)
        elif found != "a directory":
            raise ShoalError(f"--out {_shown(folder, target)}: is {found}; expected a new, empty or earlier {what}")
        elif any(target.iterdir()) and not (target / ours).exists():
            raise ShoalError(f"--out {folder}: holds other files; expected a new, empty or earlier {what}")
    except OSError as error:
        raise _cannot_write(folder, what, error) from None
    return target


def _check_parent(given: str, target: Path, what: str) -> None:
    """The nearest that exists must be a directory, or nothing can be made in it."""
    parent = next(p for p in target.parents if _kind(p) is not None)
    if not parent.is_dir():
        raise ShoalError(f"{given}: {parent} is {_kind(parent)}; expected a place for a new {what}")
    # Permissions do not tell: root may write everywhere, and yet nothing can be made in /proc.
    os.rmdir(tempfile.mkdtemp(prefix=f"{SCRATCH}-", dir=parent))


def _swap_in(scratch: Path, target: Path) -> None:
    if not target.exists():
        os.replace(scratch, target)
        return
    beside = Path(tempfile.mkdtemp(prefix=f".{target.name}-old-", dir=target.parent))
    try:
        os.replace(target, beside / "old")
        try:
            os.replace(scratch, target)
        except OSError:
            os.replace(beside / "old", target)
            raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _kind(path: Path) -> str | None:
    """None: nothing is there."""
    try:
        return _KINDS.get(stat.S_IFMT(os.lstat(path).st_mode), "something special")
    except (FileNotFoundError, NotADirectoryError):
        return None


def _shown(given: Path, target: Path) -> str:
    return str(given) if not given.is_symlink() else f"{given} (which leads to {target})"


def _cannot_write(folder: Path, what: str, error: OSError) -> ShoalError:
    return ShoalError(f"--out {folder}: cannot be written ({error.strerror}); expected a place for a {what}")
