"""Replays: which instants are shown, what is in the picture, and files that appear complete or not at all."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from shoal.errors import ShoalError
from shoal.evaluation.metrics import summarise
from shoal.evaluation.run_directory import write_run
from shoal.frames import ned_to_enu
from shoal.messages.state import ATTITUDE, POSITION
from shoal.recordings.run_messages import write_bag
from shoal.reports import rerun_picture, rerun_scene
from shoal.reports.rerun_view import save_rrd
from shoal.reports.view import frame_indices, load_run, save_animation, save_still, show_animation
from shoal.reports.view_scene import LOST, SEES, Scene, _cone
from synthetic_runs import make_record

RECORD = make_record(duration_s=10.0)
needs_rerun = pytest.mark.skipif(
    not rerun_scene.available(), reason="rerun-sdk is not installed (requirements-view.txt)"
)
needs_vulkan = pytest.mark.skipif(
    not list(Path("/usr/share/vulkan/icd.d").glob("*.json")), reason="no Vulkan driver (Debian: mesa-vulkan-drivers)"
)


def test_frames_follow_speed_and_fps() -> None:
    frames = frame_indices(RECORD, speed=5.0, fps=10.0)
    np.testing.assert_allclose(RECORD.times_s[frames], np.arange(0.0, 10.01, 0.5))
    assert len(frame_indices(RECORD, speed=0.1, fps=60.0)) == len(RECORD.times_s)  # never twice the same


def test_gif_has_all_frames_and_leaves_no_scratch(tmp_path: Path) -> None:
    reported: list[tuple[int, int]] = []
    save_animation(RECORD, tmp_path / "a.gif", speed=40.0, fps=8.0, dpi=40, progress=lambda *now: reported.append(now))
    with Image.open(tmp_path / "a.gif") as film:
        assert film.n_frames == 3
        assert film.size == (480, 260)
    assert reported == [(1, 3), (2, 3), (3, 3)]
    assert [p.name for p in tmp_path.iterdir()] == ["a.gif"]


def test_scene_shows_the_instant() -> None:
    scene = Scene(RECORD, Figure())
    scene.show(70)
    assert scene.cursors[0].get_xdata() == [7.0, 7.0]
    assert "t =    7.0 s" in scene.title.get_text() and "circle · default" in scene.title.get_text()
    east, north, down = (float(a[0]) for a in scene.vehicles[1].body.get_data_3d())
    assert (north, east, down) == pytest.approx(tuple(RECORD.states[70, 1, POSITION]))


def test_lost_sight_is_red_and_fallback_is_named() -> None:
    states, mode = RECORD.states.copy(), RECORD.mode.copy()
    states[50:, 0, ATTITUDE] = [0.0, 0.0, 0.0, 1.0]  # turned away
    mode[50:, 1] = 2
    scene = Scene(replace(RECORD, states=states, mode=mode), Figure())
    scene.show(49)
    assert [line.get_color() for line in scene.sights] == [SEES, SEES]
    scene.show(50)
    assert [line.get_color() for line in scene.sights] == [LOST, SEES]
    assert "rov2: keeping station" in scene.title.get_text()


def test_cone_opens_by_its_angle_around_the_nose() -> None:
    state = RECORD.states[0, 1]  # heads south
    corners = np.array(_cone(state, 30.0))[:, 1:, :].reshape(-1, 3)[:, [1, 0, 2]] - state[POSITION]
    cosine = corners @ np.array([-1.0, 0.0, 0.0]) / np.linalg.norm(corners, axis=1)
    np.testing.assert_allclose(np.degrees(np.arccos(cosine)), 30.0)


def test_ten_vehicles_one_vehicle_and_broken_states_can_be_drawn(tmp_path: Path) -> None:
    many = 10
    wide = {name: np.repeat(getattr(RECORD, name)[:, :1], many, axis=1)
            for name in ("states", "odometry", "setpoints_m", "solve_ms", "mode", "slack_max", "neighbour_age_s",
                         "current_mps", "plans_m")}  # fmt: skip
    wide["states"][:, :, 1] += np.arange(many)
    wide["states"][50:, 3] = np.nan
    names, thrust = tuple(f"v{i}" for i in range(many)), RECORD.thrust_N[RECORD.names[0]]
    record = replace(RECORD, names=names, must_see=((0, 1), (1, 3)), thrust_N=dict.fromkeys(names, thrust), **wide)
    save_still(record, tmp_path / "many.png", 8.0, dpi=30)
    alone = {name: values[:, :1] for name, values in wide.items()}
    one = replace(RECORD, names=("v0",), must_see=(), thrust_N={"v0": thrust}, **alone)
    save_still(one, tmp_path / "one.png", 8.0, dpi=30)
    pictures = [np.asarray(Image.open(tmp_path / name).convert("L"), dtype=float) for name in ("many.png", "one.png")]
    assert all(picture.std() > 10.0 for picture in pictures)  # drawn
    assert np.mean(pictures[0] != pictures[1]) > 0.02  # and not the same

    scene = Scene(record, Figure())
    scene.show(80)
    drawn = np.array([[float(a[0]) for a in vehicle.body.get_data_3d()] for vehicle in scene.vehicles])
    expected = record.states[80][:, [1, 0, 2]]
    np.testing.assert_allclose(np.delete(drawn, 3, axis=0), np.delete(expected, 3, axis=0))
    assert np.isnan(drawn[3]).all()
    (low, high) = scene.space.get_xlim()
    assert low < expected[0, 0] and high > expected[9, 0]  # all of the fleet is inside


def test_a_run_directory_is_found_also_by_its_recording(tmp_path: Path) -> None:
    write_run(RECORD, summarise(RECORD), tmp_path / "run")
    assert load_run(tmp_path / "run" / "recording").names == RECORD.names


def test_a_rosbag_can_be_replayed(tmp_path: Path) -> None:
    """What `make run` leaves behind, and what it says comes next."""
    write_bag(RECORD, tmp_path / "bag")
    found = load_run(tmp_path / "bag")
    assert found.names == RECORD.names and found.duration_s == pytest.approx(RECORD.duration_s, abs=0.5)


@needs_rerun
def test_rerun_gets_vehicles_plans_and_plots(tmp_path: Path) -> None:
    save_rrd(RECORD, tmp_path / "run.rrd")
    assert [p.name for p in tmp_path.iterdir()] == ["run.rrd"]
    done = subprocess.run(
        [sys.executable, "-m", "rerun", "rrd", "print", str(tmp_path / "run.rrd")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    for entity in ("world/path", "world/rov1/cone", "world/plans/rov2", "sight/rov1_rov2",
                   "distance/hard_limit", "depth/rov1"):  # fmt: skip
        assert f"/{entity}" in done.stdout, entity


@needs_rerun
def test_rerun_gets_joints_loads_and_what_the_ports_cameras_see(tmp_path: Path) -> None:
    run = make_record(duration_s=6.0, separation_m=0.7, about={"fleet": "two", "task": "dock, undock=True"})
    idle = {name: np.zeros((len(run.times_s), 8)) for name in run.names}
    save_rrd(replace(run, thrust_N=idle), tmp_path / "run.rrd")
    done = subprocess.run(
        [sys.executable, "-m", "rerun", "rrd", "print", str(tmp_path / "run.rrd")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    for entity in ("world/joints/rov1_rov2", "joint/rov1_rov2", "world/rov1/port_bow", "world/rov2/body"):
        assert f"/{entity}" in done.stdout, entity
    assert "/world/rov1/port_starboard" not in done.stdout  # no camera watches it


def test_boxes_and_cones_of_the_scene() -> None:
    for axis in ([1.0, 0, 0], [-1.0, 0, 0], [0, 0, 1.0], [0.6, 0.8, 0]):
        turn = rerun_scene.turn_from_x(np.array(axis))
        assert np.allclose(turn @ [1, 0, 0], axis) and np.allclose(turn @ turn.T, np.eye(3))
    half = np.sqrt(0.5)  # 90° to starboard is 90° to the right, about the axis that points up: -90°
    assert np.allclose(rerun_scene.flu_quaternion(np.array([half, 0, 0, half])), [0, 0, -half, half])


def test_without_rerun_the_way_to_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rerun_scene, "available", lambda: False)
    with pytest.raises(ShoalError, match=r"Rerun is not installed; expected .*requirements-view.txt"):
        save_rrd(RECORD, tmp_path / "run.rrd")
    assert not list(tmp_path.iterdir())


def test_the_eye_of_a_picture_has_all_vehicles_before_it() -> None:
    for record in (RECORD, replace(RECORD, states=np.repeat(RECORD.states[:, :1], 2, axis=1))):  # apart; at one place
        eye, target = rerun_picture.eye_at(record, 5.0)
        now = ned_to_enu(record.states[50][:, POSITION])
        np.testing.assert_allclose(target, now.mean(axis=0))
        away = target - eye
        assert eye[2] > target[2] and np.linalg.norm(away) > 1.5
        for place in now:  # within 40 degrees of where it looks
            ray = place - eye
            assert ray @ away > np.cos(np.radians(40.0)) * np.linalg.norm(ray) * np.linalg.norm(away)
    nowhere = replace(RECORD, states=np.full_like(RECORD.states, np.nan))
    with pytest.raises(ShoalError, match="no vehicle has a position 5 s into the run"):
        rerun_picture.eye_at(nowhere, 5.0)


@needs_rerun
def test_a_viewer_that_does_not_start_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for said, expected in (
        ("no graphics adapter was found", "mesa-vulkan-drivers"),
        ("oh", "expected a picture; .*oh"),
    ):
        words = [sys.executable, "-c", f"print({said!r})"]
        monkeypatch.setattr(rerun_scene, "viewer_command", lambda *_, words=words, **__: words)
        with pytest.raises(ShoalError, match=expected):
            rerun_picture.save_picture(RECORD, tmp_path / "run.png", 5.0)
    assert not list(tmp_path.iterdir())


@needs_rerun
@needs_vulkan
@pytest.mark.slow
def test_rerun_draws_both_vehicles_in_their_colours(tmp_path: Path) -> None:
    rerun_picture.save_picture(RECORD, tmp_path / "run.png", 5.0)
    with Image.open(tmp_path / "run.png") as image:
        assert image.size == rerun_picture.SIZE
        scene = np.asarray(image.convert("RGB"), dtype=float)[60:600, :760]  # left of the plots
    red, green, blue = scene[..., 0], scene[..., 1], scene[..., 2]
    assert np.count_nonzero((blue > red + 60) & (blue > green + 20)) > 300  # the first one's blue
    assert np.count_nonzero((red > blue + 60) & (red > green + 40)) > 300  # the second one's vermillion


def test_mistakes_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ShoalError, match=r"ending '\.avi'; expected \.gif or \.mp4"):
        save_animation(RECORD, tmp_path / "a.avi")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ShoalError, match=r"needs ffmpeg.*expected"):
        save_animation(RECORD, tmp_path / "a.mp4")
    with pytest.raises(ShoalError, match="no such directory"):
        load_run(tmp_path / "nowhere")
    monkeypatch.setattr("shoal.reports.view.has_display", lambda: False)
    with pytest.raises(ShoalError, match="no display; expected --save"):
        show_animation(RECORD)
