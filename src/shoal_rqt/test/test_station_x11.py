"""The station's own tests of keys and sizes once more under X11, with Qt's real xcb plugin, where there is an Xvfb."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("PySide6.QtTest")
needs_x = pytest.mark.skipif(shutil.which("Xvfb") is None, reason="Xvfb is not installed (Debian package xvfb)")
CHOSEN = "esc_is_stop or stop_goes_out or stands_between or size0 or size1 or follow_the_fleet or in_sight"


@pytest.fixture
def display() -> Iterator[str]:
    """A screen of its own; Xvfb chooses a free number."""
    read, write = os.pipe()
    words = ["Xvfb", "-displayfd", str(write), "-screen", "0", "1600x1000x24", "-nolisten", "tcp"]
    server = subprocess.Popen(words, pass_fds=(write,), stderr=subprocess.DEVNULL)
    os.close(write)
    try:
        with os.fdopen(read) as pipe:
            yield f":{pipe.readline().strip()}"
    finally:
        server.terminate()
        server.wait(20)


@needs_x
@pytest.mark.slow
def test_under_x11(display: str) -> None:
    environment = {**os.environ, "DISPLAY": display, "QT_QPA_PLATFORM": "xcb"}
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", CHOSEN]
    targets = [str(Path(__file__).with_name(name)) for name in ("test_station.py", "test_station_looks.py")]
    done = subprocess.run([*words, *targets], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert " passed" in done.stdout
