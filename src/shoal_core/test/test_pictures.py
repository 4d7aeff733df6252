"""Pictures of fleets: what is drawn is what was simulated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from shoal.cli import app
from shoal.fleet.file import load_fleet
from shoal.frames import yaw_of
from shoal.messages.geometry import distances_m, fov_angles_deg
from shoal.messages.state import ATTITUDE, POSITION
from shoal.recordings.recording import Outcome
from shoal.reports.plots import demo_plot, fleet_pictures, stages_picture
from shoal.reports.plots.demo_plot import draw_demo
from shoal.reports.plots.fleet_pictures import exchange_picture, ring_picture
from shoal.simulation.demo import open_loop_demo
from synthetic_runs import make_record

RECORD = make_record(duration_s=10.0)


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures behind the files."""
    kept: list[Any] = []
    for module in (fleet_pictures, demo_plot, stages_picture):
        save = module.save
        monkeypatch.setattr(
            module, "save", lambda figure, path, save=save: (kept.append(figure), save(figure, path))[1]
        )
    return kept


def bow_of(state: np.ndarray) -> np.ndarray:
    """North and east of the bow of a level vehicle."""
    yaw = yaw_of(state[ATTITUDE])
    return np.array([np.cos(yaw), np.sin(yaw)])


def lines(axes: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(np.asarray(line.get_xdata()), np.asarray(line.get_ydata())) for line in axes.lines]


def texts(figure: Any) -> str:
    return " ".join(text.get_text() for text in [*figure.texts, figure._suptitle])


def test_exchange_shows_every_way_and_the_closest_approach(tmp_path: Path, figures: list[Any]) -> None:
    exchange_picture(replace(RECORD, outcome=Outcome("home", 7.0)), tmp_path / "a.png")
    exchange_picture(replace(RECORD, outcome=Outcome("home", None)), tmp_path / "b.png")
    above, side = figures[0].axes
    for i in range(2):
        east, north = lines(above)[3 * i]
        np.testing.assert_array_equal(np.stack([north, east], axis=1), RECORD.states[:, i, :2])
    _, gaps = lines(side)[0]
    np.testing.assert_array_equal(gaps, distances_m(RECORD.states).min(axis=1))
    assert [y[0] for _, y in lines(side)[1:3]] == [RECORD.limits.distance_soft_m, RECORD.limits.distance_hard_m]
    assert "2 vehicles exchange places" in texts(figures[0]) and "all arrived after 7 s" in texts(figures[0])
    assert "closest approach 2.00 m" in texts(figures[0]) and "not all arrived" in texts(figures[1])


def test_ring_shows_sight_lines_angles_and_distances(tmp_path: Path, figures: list[Any]) -> None:
    ring_picture(RECORD, tmp_path / "ring.png")
    above, sight, distance = figures[0].axes
    east, north = lines(above)[0]
    np.testing.assert_array_equal(np.stack([north, east], axis=1), RECORD.reference_m[:, :2])
    east, north = lines(above)[1]  # the sight line of the first instant
    np.testing.assert_array_equal(np.stack([north, east], axis=1), RECORD.states[0, :, :2])
    angles = fov_angles_deg(RECORD.states, RECORD.must_see).max(axis=1)
    np.testing.assert_array_equal(lines(sight)[0][1], angles)
    np.testing.assert_array_equal(lines(distance)[0][1], distances_m(RECORD.states).min(axis=1))
    assert "2 vehicles in a ring" in texts(figures[0]) and "path circle, condition default" in texts(figures[0])


def test_stages_show_every_hull_where_it_was_until_the_goal(tmp_path: Path, figures: list[Any]) -> None:
    sizes_m = dict.fromkeys(RECORD.names, (0.5, 0.3))
    stages_picture.stages_picture(
        replace(RECORD, outcome=Outcome("docked", 6.0)), sizes_m, "Together", tmp_path / "a.png"
    )
    stages_picture.stages_picture(
        replace(RECORD, outcome=Outcome("docked", None)), sizes_m, "Apart", tmp_path / "b.png"
    )
    for figure, last_s in zip(figures, (6.0, RECORD.times_s[-1]), strict=True):
        assert [axes.get_title(loc="left") for axes in figure.axes] == [f"{last_s * k / 3:.0f} s" for k in range(4)]
        k = int(np.argmin(np.abs(RECORD.times_s - last_s)))
        for i, patch in enumerate(figure.axes[-1].patches):
            corners = patch.get_xy()[:4]
            np.testing.assert_allclose(corners.mean(axis=0)[::-1], RECORD.states[k, i, :2], atol=1e-9)
            assert sorted(np.linalg.norm(np.diff(corners, axis=0), axis=1)[:2]) == pytest.approx([0.3, 0.5])
            bow = bow_of(RECORD.states[k, i])
            np.testing.assert_allclose(
                (corners[:2].mean(axis=0)[::-1] - RECORD.states[k, i, :2]) / 0.25, bow, atol=1e-9
            )
    assert "docked after 6 s" in texts(figures[0]) and "not docked in 10 s" in texts(figures[1])


def test_the_demonstration_shows_both_tracks_and_their_distance(tmp_path: Path, figures: list[Any]) -> None:
    demo = open_loop_demo(load_fleet("two"), 3, 10.0)
    draw_demo(demo, tmp_path / "demo.png")
    left, right = figures[0].subfigs
    tracks = lines(left.axes[0])
    for i in range(2):
        east, north = tracks[2 * i + 1]
        np.testing.assert_array_equal(np.stack([north, east], axis=1), demo.track.states[:, i, :2])
    depth, distance, _ = right.axes
    np.testing.assert_array_equal(lines(depth)[0][1], demo.track.states[:, 0, 2])
    apart = np.linalg.norm(demo.track.states[:, 0, POSITION] - demo.track.states[:, 1, POSITION], axis=1)
    np.testing.assert_array_equal(lines(distance)[0][1], apart)
    assert f"{apart[-1]:.1f} m in the end" in distance.get_title(loc="left")


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("exchange", "--count", "3", "--duration-s", "2"),
        ("ring", "--fleet", "3", "--duration-s", "2"),
        ("dock", "--duration-s", "2"),
        ("platform", "--duration-s", "2"),
    ],
)
def test_commands_draw_what_they_simulate(arguments: tuple[str, ...], tmp_path: Path) -> None:
    outcome = CliRunner().invoke(app, ["picture", *arguments, "--out", str(tmp_path / "fleet.png")])
    assert outcome.exit_code == 0, outcome.output
    with Image.open(tmp_path / "fleet.png") as picture:
        pixels = np.asarray(picture.convert("RGB"), dtype=float)
    colourful = np.ptp(pixels, axis=2) > 60
    assert 5e-4 < colourful.mean() < 0.5  # coloured tracks on white
