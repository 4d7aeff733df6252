"""What first users got wrong, each answered by one sentence and exit code 2 before anything starts.

Beside `test_bad_files.py`, which goes through the keys of each kind of file, this is the list of inputs that were once
accepted, or answered with a traceback.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import shoal.campaigns.runner
import shoal.tasks.run
from shoal.cli import app
from shoal.config.files import find_config
from shoal.evaluation.metrics import summarise
from shoal.evaluation.run_directory import write_run
from synthetic_runs import make_record

FLEET = find_config("fleets", "two").read_text(encoding="utf-8")
PATH = "version: 1\nspeed_mps: 0.3\nwaypoints: [[0, 0, 5], [5, 0, 5]]\n"

SIMULATE = {
    "a duration without end": (["--duration", "inf"], "'--duration': Input should be less than"),
    "a duration of thirty years": (["--duration", "1e9"], "'--duration': Input should be less than"),
    "a duration that is no number": (["--duration", "nan"], "'--duration': Input should be"),
    "a duration of nothing": (["--duration", "0"], "'--duration': Input should be greater than"),
    "a folder in /proc": (["--out", "/proc/x"], "/proc/x: cannot be written"),
    "a name of 300 characters": (["--out", "x" * 300], "x: cannot be written .*(long|255)"),
    "no vehicles": (["--fleet", "0"], "fleet = 0; expected 1 to 64 vehicles"),
    "a negative number of vehicles": (["--fleet", "-3"], "fleet = -3; expected 1 to 64 vehicles"),
    "half a vehicle": (["--fleet", "2.5"], "fleet = 2.5; expected 1 to 64 vehicles"),
    "a fleet of 300 letters": (["--fleet", "x" * 300], "fleets: .*is unknown"),
    "a misspelt condition": (["--condition", "defualt"], "'defualt' is unknown; did you mean 'default'"),
    "a misspelt path": (["--path", "circel"], "'circel' is unknown; did you mean 'circle'"),
    "a misspelt fleet": (["--fleet", "thre"], "'thre' is unknown; did you mean 'three'"),
    "a misspelt controller": (["--controller", "nmcp"], "'nmcp' is unknown; did you mean 'nmpc'"),
    "an unknown controller": (["--controller", "lqr"], "'lqr' is unknown; expected a file, .*dompc, .*nmpc, .*pid"),
    "a misspelt task": (["--task", "recovr"], "task = 'recovr': unknown; did you mean 'recover'"),
    "an unknown metric": (["--metric", "rmse"], "metric = 'rmse': unknown"),
    "a setting without a value": (["--set", "jitter_m"], "--set jitter_m: expected KEY=VALUE"),
    "a misspelt setting": (["--set", "controller.weights.postion_xy=5"], "postion_xy"),
    "a period of nothing": (["--period", "0"], "'--period': Input should be greater than"),
    "a negative seed": (["--seed", "-1"], "'--seed'.*: Input should be greater than"),
}


def fleet(old: str, new: str) -> str:
    assert FLEET.count(old) >= 1, old
    return FLEET.replace(old, new, 1)


FORMATION = next(line for line in FLEET.splitlines() if line.startswith("formation:"))
STARTS = re.findall(r"start_m: \[[^\]]*\]", FLEET)

# folder, text, what the sentence must say
FILES = {
    "spacing below the hard distance": (
        "fleets", fleet(FORMATION, "formation: {kind: point, spacing_m: 0.5}"), r"spacing_m = 0.5 .*hard_m"),
    "spacing of a million kilometres": (
        "fleets", fleet(FORMATION, "formation: {kind: point, spacing_m: 1.0e+9}"), "spacing_m = 1000000000"),
    "spacing yes": (
        "fleets", fleet(FORMATION, "formation: {kind: point, spacing_m: yes}"), "other than yes or no"),
    "offsets of a point": (
        "fleets", fleet(FORMATION, "formation: {kind: point, offsets_m: [[1, 0, 0], [-1, 0, 0]]}"), "offsets"),
    "radius of a point": ("fleets", fleet(FORMATION, "formation: {kind: point, radius_m: 3}"), "radius_m"),
    "ring closer than the hard distance": (
        "fleets", fleet(FORMATION, "formation: {kind: ring, radius_m: 0.3}"), "puts 2 vehicles 0.6 m apart"),
    "offsets closer than the hard distance": (
        "fleets",
        fleet(FORMATION, "formation: {kind: offsets, offsets_m: {rov1: [0.1, 0, 0], rov2: [-0.1, 0, 0]}}"),
        "hard_m = 0.75"),
    "thrust of a rocket": (
        "fleets", fleet("parameter_set: von_benzon2022", "thrust_limit_N: 1.0e+6"), "limit_N = 1000000"),
    "two vehicles at one place": ("fleets", fleet(STARTS[1], STARTS[0]), "start_m.*0.00 m.*hard_m = 0.75"),
    "a start in the air": (
        "fleets", fleet(STARTS[0], "start_m: [0, 0, -5]"), r"start_m.*-5.*below the surface"),
    "a start beyond every ocean": ("fleets", fleet(STARTS[0], "start_m: [0, 0, 1.0e+6]"), "start_m"),
    "pairs without given": (
        "fleets", FLEET + "sight: {pairs: [[rov1, rov2]]}\n" if "sight:" not in FLEET else
        re.sub(r"sight: .*", "sight: {topology: all, pairs: [[rov1, rov2]]}", FLEET), "pairs with topology"),
    "stride with all": (
        "fleets", FLEET + "sight: {topology: all, stride: 2}\n" if "sight:" not in FLEET else
        re.sub(r"sight: .*", "sight: {topology: all, stride: 2}", FLEET), "stride = 2 with topology"),
    "a fleet without vehicles": ("fleets", FLEET[: FLEET.index("vehicles:")], "vehicles: missing"),
    "a waypoint in the air": ("paths", PATH.replace("[5, 0, 5]", "[5, 0, -8]"), r"waypoints.1.*-8.*below the surface"),
    "a waypoint beyond the earth": (
        "paths", PATH.replace("[5, 0, 5]", "[1.0e+30, 0, 5]"), "waypoints.1 is .*expected at most 100000 m"),
    "a path at 25 m/s": ("paths", PATH.replace("0.3", "25"), r"speed_mps is 25.0; expected at most limits.speed_mps"),
    "a current of 30 m/s": (
        "conditions", "environment: {currents: [{kind: constant, velocity_mps: [30, 0, 0]}]}\n", "velocity_mps.*30"),
    "a bound of nothing": ("conditions", "bounds: {tilt_mx_deg: 3}\n", r"bounds.tilt_mx_deg is no metric with a bound"),
    "a campaign with a misspelt path": ("campaigns", "paths: [circel]\n", "'circel' is unknown; did you mean 'circle'"),
    "a campaign of no vehicles": ("campaigns", "paths: [circle]\nfleets: [0]\n", "fleet = 0; expected 1 to 64"),
    "a campaign without fleets": ("campaigns", "paths: [circle]\nfleets: []\n", "fleets.*at least"),
    "a campaign without conditions": ("campaigns", "paths: [circle]\nconditions: []\n", "conditions.*at least"),
    "a campaign without controllers": ("campaigns", "paths: [circle]\ncontrollers: []\n", "controllers.*at least"),
    "a campaign with a misspelt condition": (
        "campaigns", "paths: [circle]\nconditions: [defualt]\n", "'defualt' is unknown; did you mean 'default'"),
    "a campaign with an unknown controller": (
        "campaigns", "paths: [circle]\ncontrollers: [nmcp]\n", "'nmcp' is unknown; did you mean 'nmpc'"),
    "a campaign without end": ("campaigns", "paths: [circle]\nduration_s: .inf\n", "duration_s = inf"),
    "a campaign of thirty years": ("campaigns", "paths: [circle]\nduration_s: 1.0e+9\n", "duration_s = 1000000000"),
    "a cell with a misspelt path": ("campaigns", "cells: [{path: circel}]\n", "'circel' is unknown"),
    "a platform of 400 vessels": (
        "blueprints", f"version: 1\nname: mine\nrows: ['{'#' * 400}']\n", "400 vessels, expected at most 64"),
    "a controller without a class": ("controllers", "version: 1\ncontroller: lqr\n", "controller = 'lqr'"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is accepted fails the test at once instead of simulating for minutes."""

    def started(*_: object, **__: object) -> None:
        raise AssertionError("it started")

    monkeypatch.setattr(shoal.tasks.run, "simulate", started)
    monkeypatch.setattr(shoal.campaigns.runner, "_make", started)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "2000"})


def assert_answered(result: Result, words: str) -> None:
    assert result.exit_code == 2, (result.exit_code, result.output, result.exception)
    assert isinstance(result.exception, SystemExit | None), result.exception
    sentence = " ".join(result.stderr.replace("│", " ").split())  # click draws a box around its own
    assert re.search(words, sentence), sentence
    assert "Traceback" not in sentence


@pytest.mark.parametrize("name", SIMULATE)
def test_simulate_refuses(name: str) -> None:
    arguments, words = SIMULATE[name]
    assert_answered(run("simulate", *arguments), words)


@pytest.mark.parametrize("name", FILES)
def test_files_are_refused_by_check_and_by_whatever_reads_them(name: str, tmp_path: Path) -> None:
    folder, text, words = FILES[name]
    file = tmp_path / folder / "mine.yaml"
    file.parent.mkdir()
    file.write_text(text, encoding="utf-8")
    checked = run("check", file)
    assert_answered(checked, words)
    assert "mine.yaml" in checked.stderr
    option = {"fleets": "--fleet", "paths": "--path", "conditions": "--condition", "controllers": "--controller"}
    if folder == "blueprints":
        assert_answered(run("platform", "plan", file), words)
    elif folder == "campaigns":
        assert_answered(run("campaign", "run", file, "--out", tmp_path / "out"), words)
        assert not (tmp_path / "out").exists()
    else:
        assert_answered(run("simulate", option[folder], file), words)


def test_a_fleet_file_without_vehicles_is_not_taken_for_a_condition(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("version: 1\nname: mine\nformation: {kind: point}\nsight: {topology: all}\n", encoding="utf-8")
    result = run("check", file)
    assert_answered(result, "vehicles: missing")


def test_a_pipe_is_not_replaced_by_a_folder(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert_answered(run("simulate", "--out", tmp_path / "pipe"), "pipe.*expected")
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["--save", "x.bmp"], r"\.gif.*\.mp4.*\.png"), (["--save", "x.png", "--at", "99999"], "99999.*4"),
     (["--save", "x.gif", "--at", "1"], "--at")],
)  # fmt: skip
def test_view_refuses(arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    record = make_record(duration_s=4.0)
    write_run(record, summarise(record), tmp_path / "run", recording=False)
    assert_answered(run("view", "run", *arguments), words)


WRITERS = [
    ["simulate", "--plot"], ["vehicle", "show", "bluerov2_heavy", "--picture"], ["drop", "bluerov2_heavy", "--plot"],
    ["demo", "--plot"], ["picture", "exchange", "--out"], ["picture", "ring", "--out"], ["picture", "dock", "--out"],
    ["picture", "platform", "--out"], ["assembly", "show", "pair", "--picture"], ["bag", "report", "x", "--plot"],
    ["view", "x", "--save"],
]  # fmt: skip


@pytest.mark.parametrize("place", ["/proc/x.png", "x" * 300 + ".png", "a_file/x.png", "a_folder.png", "x.bmp"])
@pytest.mark.parametrize("command", WRITERS, ids=lambda words: " ".join(words[:2]))
def test_pictures_that_cannot_be_written_are_refused_first(
    command: list[str], place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a_file").write_text("")
    (tmp_path / "a_folder.png").mkdir()
    assert_answered(run(*command, place), rf"{command[-1]} .*expected")
    assert (tmp_path / "a_file").is_file()


@pytest.mark.parametrize("place", ["/proc/x", "x" * 300])
def test_campaigns_refuse_places_that_cannot_be_written(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_answered(run("campaign", "run", "pid", "--runs", "1", "--out", place), "cannot be written")
