"""Which code made a result, and on what class of machine. No names of hosts, users or folders."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import lru_cache
from pathlib import Path

VERSION = "0.1.0"  # of all packages


@lru_cache(maxsize=1)
def code_version() -> str:
    """`0.1.0+g<commit>` of the checkout, `.dirty` with uncommitted source, or the plain version when installed.

    $SHOAL_CODE_VERSION gives it where there is no checkout to ask: in containers and on cluster nodes.
    """
    if given := os.environ.get("SHOAL_CODE_VERSION"):
        return given
    here = Path(__file__).resolve().parent
    commit = _git(here, "rev-parse", "--short=12", "HEAD")
    if not commit:
        return VERSION
    dirty = _git(here, "status", "--porcelain", "--untracked-files=no", "--", str(here))
    return f"{VERSION}+g{commit}{'.dirty' if dirty else ''}"


@lru_cache(maxsize=1)
def machine_class() -> str:
    """Processor, logical cores, system and Python: what solve times need to be read with."""
    cores = os.cpu_count()
    return f"{_processor()}, {cores} logical cores, {platform.system()}, Python {platform.python_version()}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
