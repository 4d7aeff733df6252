"""Standard paths against their printed formulas and finite differences; waypoint files."""

from __future__ import annotations

from collections.abc import Callable
from math import cos, pi, sin
from pathlib import Path

import numpy as np
import pytest

from shoal.config.files import list_configs
from shoal.errors import ShoalError
from shoal.guidance.path_file import load_path
from shoal.guidance.paths import STANDARD_PATHS, preview, standard_path

PRINTED: dict[str, Callable[[float], list[float]]] = {
    "line": lambda t: [5.33e-3 * t**2 - 3.55e-5 * t**3 if t < 75 else 15, 0, 5],
    "circle": lambda t: [5 * cos(pi * t / 100) - 5, 5 * sin(pi * t / 100), sin(pi * t / 25) + 5],
    "spiral": lambda t: [
        (4 - 0.015 * t) * cos(pi * t / (100 - 0.3 * t)) - 4,
        (4 - 0.015 * t) * sin(pi * t / (100 - 0.3 * t)),
        5,
    ],
    "torus": lambda t: [
        (7 + 2 * cos(pi * t / 35)) * cos(pi * t / 200) - 9,
        (7 + 2 * cos(pi * t / 35)) * sin(pi * t / 200),
        2 * sin(pi * t / 35) + 5,
    ],
}
AT_THE_SURFACE = ("tank_loop",)  # for vessels
DURATION_S = {"line": 130, "circle": 200, "spiral": 250, "torus": 400}


def test_the_four_are_there() -> None:
    assert set(STANDARD_PATHS) == set(PRINTED)


@pytest.mark.parametrize("name", PRINTED)
def test_position_is_the_printed_formula(name: str) -> None:
    path = standard_path(name)
    assert path.duration_s == DURATION_S[name]
    times_s = np.linspace(0, path.duration_s, 1001)
    assert np.allclose(path.position(times_s), [PRINTED[name](t) for t in times_s], rtol=0, atol=1e-12)
    assert np.allclose(path.position(0.0), [0, 0, 5], atol=1e-12)


@pytest.mark.parametrize("name", PRINTED)
def test_derivatives_agree_with_differences(name: str) -> None:
    path, h = standard_path(name), 1e-4
    times_s = np.linspace(1, path.duration_s - 1, 777)
    times_s = times_s[abs(times_s - 75) > 0.01] if name == "line" else times_s  # where the line stops at once
    assert np.allclose(
        (path.position(times_s + h) - path.position(times_s - h)) / (2 * h), path.velocity(times_s), atol=1e-8
    )
    slope = (path.velocity(times_s + h) - path.velocity(times_s - h)) / (2 * h)
    assert np.allclose(slope, path.acceleration(times_s), atol=1e-8)


@pytest.mark.parametrize("name", PRINTED)
def test_rests_before_and_after(name: str) -> None:
    path = standard_path(name)
    assert np.allclose(path.position([-3.0, path.duration_s + 50]), path.position([0.0, path.duration_s]))
    assert not np.any(path.velocity([-3.0, path.duration_s + 1e-6]))
    assert not np.any(path.acceleration([-3.0, path.duration_s + 1e-6]))


def test_number_gives_a_vector_and_array_gives_rows() -> None:
    path = standard_path("torus")
    assert path.position(3.0).shape == (3,)
    assert np.array_equal(path.velocity(np.array([3.0, 4.0]))[0], path.velocity(3.0))


def test_line_stops_at_75_s_with_the_printed_jumps() -> None:
    path = standard_path("line")
    before, after = path.position(75 - 1e-9)[0], path.position(75.0)[0]
    assert after == 15.0 and 0.0046 < before - after < 0.0048
    assert path.velocity(75 - 1e-9)[0] == pytest.approx(0.2, abs=5e-4)
    assert not np.any(path.velocity(75.0))


def test_preview_has_absolute_times() -> None:
    path = standard_path("circle")
    ahead = preview(path, 10.0, np.array([0.0, 0.5, 2.0]))
    assert np.allclose(ahead.times_s, [10, 10.5, 12])
    assert np.allclose(ahead.positions_m, path.position([10, 10.5, 12]))
    assert np.allclose(ahead.velocities_mps, path.velocity([10, 10.5, 12]))
    assert ahead.headings_rad is None


def test_unknown_path_is_told() -> None:
    with pytest.raises(ShoalError, match=r"'square' is unknown; expected one of: line, circle"):
        standard_path("square")
    with pytest.raises(ShoalError, match=r"'square' is unknown.*torus.*lawnmower"):
        load_path("square")


@pytest.mark.parametrize("name", list_configs("paths"))
def test_shipped_files_start_where_the_tests_do(name: str) -> None:
    path, start_m = load_path(name), [0, 0, 0] if name in AT_THE_SURFACE else [0, 0, 5]
    assert np.allclose(path.position(0.0), start_m) and not np.any(path.velocity(0.0))
    assert path.duration_s > 30


def test_file_is_followed(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(
        "version: 1\nspline: segments\nspeed_mps: 0.2\nwaypoints:\n"
        "- [0, 0, 5]\n- {position_m: [2, 0, 5], velocity_mps: [0.1, 0, 0]}\n- {position_m: [4, 0, 5], speed_mps: 0.1}\n"
    )
    path = load_path(file)
    assert path.duration_s == pytest.approx(2 / 0.2 + 2 / 0.1)
    assert np.allclose(path.position(10.0), [2, 0, 5]) and np.allclose(path.velocity(10.0), [0.1, 0, 0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("waypoints: [[0, 0, 5]]", "waypoints.*at least 2"),
        ("waypoints: [[0, 0, 5], [0, 0, 5]]", "waypoints.0 and waypoints.1 are the same place"),
        ("waypoints: [[0, 0, 5], [0, 0]]", "waypoints.1"),
        ("waypoints: [[0, 0, 5], [0, .nan, 1]]", "waypoints.1.*finite"),
        ("spline: bezier\nwaypoints: [[0, 0, 5], [1, 0, 5]]", "spline = 'bezier'"),
        ("waypoints: [[0, 0, 5], {position_m: [1, 0, 5], velocity_mps: [0.1, 0, 0]}]", "expected it with 'segments'"),
        (
            "spline: segments\nwaypoints: [[0, 0, 5], {position_m: [1, 0, 5], velocity_mps: [9, 0, 0]}]",
            "expected less than the limit",
        ),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, text: str, expected: str) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(f"version: 1\nspeed_mps: 0.2\n{text}\n")
    with pytest.raises(ShoalError, match=rf"p\.yaml.*{expected}"):
        load_path(file)
