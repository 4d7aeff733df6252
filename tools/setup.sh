#!/usr/bin/env bash
# Makes .venv and installs everything into it. Called by make; safe to stop at any moment and to run again.
#   tools/setup.sh          the environment
#   tools/setup.sh system   only the Debian packages that Qt needs (root)
#   tools/setup.sh tests    what some tests look at the real thing with: Gazebo's file checker, Xvfb, Chromium (where root)
set -euo pipefail
cd "$(dirname "$0")/.."
unset PYTHONDONTWRITEBYTECODE PYTHONPATH PYTHONHOME  # bytecode triples the speed of every later start

python=${PYTHON:-python3}
venv_python=.venv/bin/python
# The second line is for a window on X11 (Qt's xcb plugin), the third for Wayland.
qt_packages="libegl1 libgl1 libfontconfig1 libdbus-1-3 libxkbcommon0 libglib2.0-0
    libxcb-cursor0 libxkbcommon-x11-0 libxcb-icccm4 libxcb-image0 libxcb-keysyms1 libxcb-render-util0 libxcb-shape0 libxcb-xinerama0
    libwayland-client0 libwayland-cursor0 libwayland-egl1"
x11_test_packages="xvfb"  # a screen for the tests
sdf_packages="ignition-tools libsdformat-dev"
browser_packages="chromium"

say() { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }
can_apt() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

install_debian() {
    say "installing Debian packages: $*"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"; } >/dev/null
}

check_python() {
    command -v "$python" >/dev/null || fail "'$python' was not found; install Python 3.10 or newer, or name one: make setup PYTHON=python3.12"
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
        fail "Python 3.10 or newer is needed, '$python' is $("$python" -V 2>&1); name another one: make setup PYTHON=python3.12"
    "$python" -c 'import venv, ensurepip' 2>/dev/null && return
    can_apt || fail "'$python' cannot make virtual environments; on Debian and Ubuntu install the package python3-venv"
    install_debian python3-venv
}

make_venv() {
    # An interrupted run leaves ~names of half-removed packages behind, or no working pip: only then --clear.
    [ -e .venv/.shoal-setup ] || rm -rf .venv/lib/python*/site-packages/~*
    "$venv_python" -m pip --version >/dev/null 2>&1 && return
    say "making .venv with $("$python" -V)"
    "$python" -m venv --clear .venv
}

install_python() {
    local editable=() folder
    for folder in src/*/setup.py; do editable+=(-e "${folder%/setup.py}"); done
    say "installing pinned dependencies (the first time takes a minute or two)"
    # An older pip installs packages that have only a setup.py in the legacy way, with scripts in the wrong place.
    pip install pip=="$(pinned pip)" setuptools=="$(pinned setuptools)" wheel=="$(pinned wheel)"
    # The lock is complete (--no-deps), and bytecode of what is never imported is wasted time (--no-compile).
    pip install --no-deps --no-build-isolation --no-compile -r requirements.txt
    say "installing the packages of src/"
    PYTHONWARNINGS=ignore pip install --no-deps --no-build-isolation "${editable[@]}"
}
pip() { "$venv_python" -m pip --disable-pip-version-check --quiet "$@"; }
pinned() { sed -n "s/^$1==\([^ ]*\).*/\1/p" requirements.txt; }

qt_works() {
    # The offscreen platform, and the plugins of X11 and Wayland: loading them resolves their system libraries, screen or none.
    QT_QPA_PLATFORM=offscreen "$venv_python" - >/dev/null 2>&1 <<'END'
import ctypes
from pathlib import Path

import PySide6
from PySide6.QtWidgets import QApplication

QApplication([])
plugins = [f for f in (Path(PySide6.__file__).parent / "Qt/plugins/platforms").glob("libq*.so") if f.stem[4:] in ("xcb", "wayland")]
assert any("xcb" in plugin.name for plugin in plugins)
for plugin in plugins:
    ctypes.CDLL(str(plugin))
END
}

check_qt() {
    qt_works && return
    if can_apt; then
        # shellcheck disable=SC2086  # a list on purpose
        install_debian $qt_packages || true
        qt_works && return
    fi
    # shellcheck disable=SC2086
    say "windows will not open: Qt lacks system libraries; as root: make system, or apt-get install" $qt_packages
}

check_compiler() {
    command -v cc >/dev/null || command -v gcc >/dev/null || command -v clang >/dev/null ||
        say "no C compiler found: models run in CasADi's own virtual machine, which is slower; install gcc to compile them"
}

check_imports() {
    # Also writes the bytecode of the large libraries, which --no-compile left out.
    "$venv_python" -c 'import casadi, dask.distributed, matplotlib.pyplot, pandas, pyarrow, pydantic, scipy.optimize, typer' ||
        fail "the installed libraries cannot be imported (see above); 'make distclean setup' starts again"
    "$venv_python" -c 'import rclpy.node, nav_msgs.msg' 2>/dev/null ||
        say "no ROS 2 here: its wheels exist for x86-64 Linux only; simulation and experiments work, nodes need a ROS 2 Jazzy of the system"
}

if [ "${1:-}" = system ]; then
    can_apt || fail "needs root and apt-get: apt-get install $(echo $qt_packages)"
    # shellcheck disable=SC2086
    install_debian $qt_packages $x11_test_packages
    exit
fi
if [ "${1:-}" = tests ]; then
    missing=""
    command -v ign >/dev/null || missing="$missing $sdf_packages"
    command -v Xvfb >/dev/null || missing="$missing $x11_test_packages"
    command -v chromium >/dev/null || command -v google-chrome >/dev/null || missing="$missing $browser_packages"
    [ -z "$missing" ] && exit
    # shellcheck disable=SC2086  # a list on purpose
    if ! { can_apt && install_debian $missing; }; then
        say "tests that need one of them are skipped; as root: apt-get install$missing"
    fi
    exit
fi
check_python
make_venv
install_python
check_qt
check_compiler
check_imports
say "done: .venv/bin/shoal --help"
