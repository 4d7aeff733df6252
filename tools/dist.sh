#!/usr/bin/env bash
# Wheels of all packages, and the proof that they need no checkout. Called by make.
#   tools/dist.sh build   dist/*.whl
#   tools/dist.sh check   a new environment elsewhere: simulate, check, a fleet on ROS 2, the station's pictures
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
unset PYTHONPATH PYTHONHOME
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
say() { printf 'dist: %s\n' "$*"; }

build() {
    # From copies without links: a build leaves its traces where the sources are, and shoal_bringup links to config/ and others.
    local folder
    for folder in src/*/; do cp -rL "$folder" "$scratch/$(basename "$folder")"; done
    rm -rf "$scratch"/*/build "$scratch"/*/*.egg-info "$scratch"/*/test dist
    PYTHONWARNINGS=ignore .venv/bin/python -m pip --disable-pip-version-check wheel --quiet --no-deps --no-build-isolation \
        --wheel-dir dist "$scratch"/*/
    say "$(ls dist/*.whl | wc -l) wheels in dist/; install them with: pip install -c requirements.txt dist/*.whl"
}

check() {
    local pip="$scratch/venv/bin/python -m pip --disable-pip-version-check --quiet" shoal="$scratch/venv/bin/shoal"
    "${PYTHON:-python3}" -m venv "$scratch/venv"
    # The wheels name what they need; ROS 2 is the environment's business, here its wheels.
    sed -n 's/^\(ros-[^=]*\)==.*/\1/p' requirements.txt > "$scratch/ros.txt"
    say "installing into $scratch/venv"
    $pip install -c requirements.txt dist/*.whl -r "$scratch/ros.txt"
    cd "$scratch"
    export XDG_CACHE_HOME="$scratch/cache" NO_COLOR=1
    venv/bin/python -c "import shoal, sys; sys.exit(shoal.__file__.startswith('$root'))"
    step "$shoal" check
    step "$shoal" simulate --path circle --duration 10 --out run --plot run.png
    step "$shoal" bag report run/recording
    if venv/bin/python -c 'import rclpy' 2>/dev/null; then
        step "$shoal" up two --path circle --for 10 --rate 0 --record bag
        step "$shoal" bag report bag
    fi
    # It refuses pictures in which a vehicle is lost, as on a machine that does not keep up; one good picture is enough here.
    say "shoal gui --screenshots pictures"
    QT_QPA_PLATFORM=offscreen "$shoal" gui --screenshots pictures > log 2>&1 || grep -q 'try again when it is idle' log
    ls pictures/*.png > /dev/null || { tail -30 log; say "failed"; exit 1; }
    say "the wheels work without the checkout"
}

step() {
    say "shoal ${*:2}"
    "$@" > "$scratch/log" 2>&1 || { tail -30 "$scratch/log"; say "failed"; exit 1; }
}

"${1:-build}"
