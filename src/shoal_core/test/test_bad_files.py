"""Mistakes in files: each gets a sentence with file, key, value and expectation, and exit code 2."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from shoal.cli import app
from shoal.config.files import find_config, list_configs

VEHICLE = find_config("vehicles", "bluerov2_heavy").read_text(encoding="utf-8")
FLEET = find_config("fleets", "two").read_text(encoding="utf-8")
CONDITION = "plant: {perturbation: 0.2, thrusters: {lag: {replace: [0.1, 0.2]}}}\nlink: {loss: 0.5}\n"
CONTROLLER = "version: 1\ncontroller: nmpc\nsettings: {weights: {position_xy: 50}}\nruntime: {lost_s: 3}\n"
CAMPAIGN = "task: follow_path\npaths: [circle]\nvary: {controller.weights.position_xy: [20, 50]}\nruns: 2\n"

RISE = VEHICLE[VEHICLE.index("    heave_rise:") : VEHICLE.index("    added_mass_coriolis")]

# Kind of file, what is written, what instead, and what the sentence must say.
MISTAKES = {
    "unknown key": (
        "vehicles",
        "default_set: von_benzon2022",
        "default_set: von_benzon2022\ncolour: blue",
        "colour = 'blue': unknown key; expected one of default_set, ",
    ),
    "missing key": ("vehicles", "name: bluerov2_heavy\n", "", "name: missing"),
    "negative mass": (
        "vehicles",
        "mass: {value: 11.5",
        "mass: {value: -11.5",
        r"sets.wu2018.mass = -11.5: expected every entry > 0",
    ),
    "no number": (
        "vehicles",
        "mass: {value: 11.5",
        "mass: {value: heavy",
        r"wu2018.mass.value = 'heavy': expected a finite number",
    ),
    "not finite": (
        "vehicles",
        "mass: {value: 11.5",
        "mass: {value: .nan",
        r"wu2018.mass.value = nan: expected a finite number",
    ),
    "wrong unit": (
        "vehicles",
        "value: 112.8, unit: N",
        "value: 112.8, unit: kg",
        "weight .* unit is 'kg', expected 'N'",
    ),
    "wrong shape": ("vehicles", "[0.16, 0.16, 0.16]", "[0.16, 0.16]", r"inertia .* shape is \(2,\), expected 3 or 3×3"),
    "ragged matrix": (
        "vehicles",
        "[0.16, 0.16, 0.16]",
        "[[0.16, 0], [0, 0.16, 0], [0]]",
        "inertia .* rows differ in length",
    ),
    "inertia not symmetric": (
        "vehicles",
        "[0.16, 0.16, 0.16]",
        "[[0.16, 0.1, 0], [0, 0.16, 0], [0, 0, 0.16]]",
        "inertia .* is not symmetric, expected",
    ),
    "inertia impossible": (
        "vehicles",
        "[0.16, 0.16, 0.16]",
        "[[0.16, 0.2, 0], [0.2, 0.16, 0], [0, 0, 0.16]]",
        "inertia .* not positive definite",
    ),
    "inertia too small for the CG": (
        "vehicles",
        "value: [0.0, 0.0, 0.02]",
        "value: [0.0, 0.0, 0.2]",
        "expected more than the 0.46 kg",
    ),
    "half of a pair": (
        "vehicles",
        RISE,
        "",
        "sets.ng2024: only one of heave_dive and heave_rise is given, expected both",
    ),
    "misspelt key": (
        "vehicles",
        "heave_rise:",
        "heave_raise:",
        "sets.ng2024.heave_raise .* unknown key; expected 'heave_rise'",
    ),
    "unknown default set": (
        "vehicles",
        "default_set: von_benzon2022",
        "default_set: wu2019",
        "default_set = 'wu2019' is unknown, expected one of",
    ),
    "no direction": (
        "vehicles",
        "direction: [1, -1, 0]",
        "direction: [0, 0, 0]",
        "thruster1' is zero, expected a vector with a length",
    ),
    "thruster twice": ("vehicles", "name: thruster2", "name: thruster1", "repeat, expected each once"),
    "no actuator for a thruster": (
        "vehicles",
        "thrusters: [thruster3, thruster4, ",
        "thrusters: [thruster3, ",
        "sets.ng2024.actuators: none for thruster4, expected one for each thruster",
    ),
    "two actuators of a thruster": (
        "vehicles",
        "thrusters: [thruster3, ",
        "thrusters: [thruster1, thruster3, ",
        "sets.ng2024.actuators: thruster 'thruster1' has two entries, expected one",
    ),
    "actuator of no thruster": (
        "vehicles",
        "thrusters: [thruster3, ",
        "thrusters: [thruster9, thruster3, ",
        "thruster 'thruster9' is unknown, expected one of thruster1",
    ),
    "slew of a fixed thruster": (
        "vehicles",
        "        lag: {value: 0.15, unit: s, source: Shoal's assumption for a T200 (not in Fosso 2023)}\n",
        "        lag: {value: 0.15, unit: s, source: none}\n        slew: {value: 6, unit: rad/s, source: none}\n",
        "slew and thruster 'thruster1' .fixed. do not fit, expected slew for azimuths",
    ),
    "no limit": (
        "vehicles",
        "        max_forward: {value: 6.2, unit: N, source: Fosso et al. 2023 (input bound of the controller)}\n",
        "",
        "max_forward or max_reverse is missing, expected both with a linear curve",
    ),
    "unknown thruster table": (
        "vehicles",
        "table: t200",
        "table: t300",
        "thrusters: 't300' is unknown; did you mean 't200'. .expected a file or",
    ),
    "voltage out of range": (
        "vehicles",
        "voltage: {value: 16.0",
        "voltage: {value: 24",
        "voltage of 24 V, expected 10 to 20 V",
    ),
    "key twice": (
        "vehicles",
        "version: 2\n",
        "version: 2\nversion: 2\n",
        "line 10, column 1: key 'version' appears twice",
    ),
    "not YAML": ("vehicles", "thrusters:\n", "thrusters: [\n", "not valid YAML at line"),
    "later version": ("vehicles", "version: 2\n", "version: 3\n", "version = 3: expected less than or equal to 2"),
    "unknown vehicle type": (
        "fleets",
        "type: bluerov2_heavy",
        "type: bluerov9",
        "vehicles.0 .rov1.: vehicles: 'bluerov9' is unknown; did you mean 'bluerov2'. .expected a file or",
    ),
    "unknown set in a fleet": (
        "fleets",
        "parameter_set: von_benzon2022",
        "parameter_set: wu",
        "'wu' is unknown; expected one of wu2018",
    ),
    "vehicle twice": (
        "fleets",
        "name: rov2",
        "name: rov1",
        "vehicle name 'rov1' appears 2 times, expected each once",
    ),
    "name with blanks": (
        "fleets",
        "name: rov2",
        "name: My ROV",
        "name = 'My ROV': expected lower-case letters, digits",
    ),
    "unknown topology": (
        "fleets",
        "topology: all",
        "topology: rong",
        "sight.topology = 'rong': expected one of all, ring, chain, ",
    ),
    "cone inside out": (
        "fleets",
        "soft_deg: 30",
        "soft_deg: 70",
        "soft_deg = 70.* exceeds hard_deg = 60.*, expected soft ≤ hard",
    ),
    "position in two numbers": (
        "fleets",
        "start_m: [0.000, -1.100, 5.000]",
        "start_m: [0.0, 5.0]",
        "start_m.* missing",
    ),
    "no vehicles": (
        "fleets",
        "vehicles:\n",
        "vehicles: []\nothers:\n",
        r"vehicles = \[\]: expected at least 1 of them",
    ),
    "loss above one": ("conditions", "loss: 0.5", "loss: 50", "link.loss = 50: expected less than or equal to 1"),
    "lag backwards": (
        "conditions",
        "[0.1, 0.2]",
        "[0.3, 0.2]",
        r"plant.thrusters.lag: range is \[0.3, 0.2\]; expected 0 <= smallest",
    ),
    "unknown current": (
        "conditions",
        "link: {loss: 0.5}",
        "environment: {currents: [{kind: tide}]}",
        "environment.currents.0.kind = 'tide': expected one of 'constant'",
    ),
    "unknown controller": (
        "controllers",
        "controller: nmpc",
        "controller: pdi",
        "controller = 'pdi': unknown; expected one of nmpc, pid, .*dompc, or your own package.module:Name",
    ),
    "controller that is not one": (
        "controllers",
        "controller: nmpc",
        "controller: pathlib:Path",
        "controller = 'pathlib:Path': expected a class derived from shoal.Controller",
    ),
    "unknown weight": (
        "controllers",
        "position_xy: 50",
        "position_yx: 50",
        "weights.position_yx = 50: unknown key; expected 'position_",
    ),
    "unknown runtime setting": (
        "controllers",
        "lost_s: 3",
        "lost: 3",
        "lost = 3: unknown key; expected 'lost_s'",
    ),
    "unknown task": (
        "campaigns",
        "task: follow_path",
        "task: follow",
        "task = 'follow': unknown; expected one of follow_path, hold_station, .*, or your own",
    ),
    "vary a key that no controller has": (
        "campaigns",
        "position_xy:",
        "position_q:",
        r"vary: .*weights.position_q = 20: unknown key; expected",
    ),
    "vary a key that no condition has": (
        "campaigns",
        "controller.weights.position_xy:",
        "links.loss:",
        r"vary.links.loss: is no key of a condition; expected for example link.loss",
    ),
    "misspelt path": ("campaigns", "[circle]", "[sqare]", "'sqare' is unknown; expected a waypoint file or one of"),
    "a list": ("conditions", CONDITION, "- 1\n- 2\n", "is a list; expected a mapping"),
    "an empty file": ("conditions", CONDITION, "", "is empty; expected a mapping"),
}
TEXTS = {
    "vehicles": VEHICLE,
    "fleets": FLEET,
    "conditions": CONDITION,
    "controllers": CONTROLLER,
    "campaigns": CAMPAIGN,
}


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def written(folder: Path, kind: str, text: str) -> Path:
    path = folder / kind / "mine.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_a_sentence_and_exit_code_2(mistake: str, tmp_path: Path) -> None:
    kind, good, bad, sentence = MISTAKES[mistake]
    assert good in TEXTS[kind]
    path = written(tmp_path, kind, TEXTS[kind].replace(good, bad, 1))
    outcome = run("check", path)
    assert outcome.exit_code == 2
    first = outcome.stderr.splitlines()[0]
    assert re.search(sentence, outcome.stderr), outcome.stderr
    assert first.startswith(f"error: {path}: ")
    assert "expected" in first or "not valid YAML" in first
    assert "Traceback" not in outcome.output and len(outcome.stderr.splitlines()) <= 7


NO_YAML = {
    "a 13th month": ("runs: 2020-13-45\n", "line 1, column 7: '2020-13-45' is no timestamp"),
    "a key that is a list": ("{[1]: 2}\n", "a key is no text"),
    "a tag that does not fit": ("runs: !!int abc\n", "'abc' is no int"),
    "5000 digits": (f"runs: {'1' * 5000}\n", "is no int"),
    "a control character": ("runs: \0\n", "control characters are not allowed"),
    "a number as a key": ("1: 2\nruns: 3\n", "key 1: expected text"),
    "brackets by the thousand": (f"runs: {'[' * 50_000}{']' * 50_000}\n", "nested more than 50 levels deep"),
    "indented by the thousand": ("".join(" " * k + "a:\n" for k in range(1500)), "nested more than 50 levels deep"),
    "a list that holds itself": ("paths: &a [*a]\n", "nested more than 50 levels deep"),
    "a few lines of aliases, billions of values": (
        "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
        + "".join(f"a{k + 1}: &a{k + 1} [{', '.join([f'*a{k}'] * 10)}]\n" for k in range(9)),
        "more than 1000000 values",
    ),
}


@pytest.mark.parametrize("name", NO_YAML)
def test_what_yaml_makes_of_odd_text_is_answered_too(name: str, tmp_path: Path) -> None:
    """PyYAML lets Python's own exceptions through, and libyaml's recursion can end the process."""
    text, sentence = NO_YAML[name]
    outcome = run("check", written(tmp_path, "campaigns", text))
    assert (outcome.exit_code, "Traceback" in outcome.output) == (2, False), outcome.exception
    assert re.search(sentence, outcome.stderr), outcome.stderr


def test_different_mistakes_have_different_sentences() -> None:
    assert len(MISTAKES) >= 10
    assert len({sentence for _, _, _, sentence in MISTAKES.values()}) == len(MISTAKES)


@pytest.mark.parametrize("kind", TEXTS)
def test_the_unspoilt_files_are_fine(kind: str, tmp_path: Path) -> None:
    """Or the tests above would prove nothing."""
    outcome = run("check", written(tmp_path, kind, TEXTS[kind]))
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert outcome.stdout.startswith("ok")


def test_kind_is_found_by_content_elsewhere(tmp_path: Path) -> None:
    for kind, text in TEXTS.items():
        outcome = run("check", written(tmp_path / kind, "somewhere", text))
        assert outcome.exit_code == 0 and kind[:-1] in outcome.stdout
    outcome = run("check", written(tmp_path, "other", "colour: blue\n"))
    assert outcome.exit_code == 2 and "cannot determine what kind" in outcome.stderr


def test_one_bad_file_among_good_ones(tmp_path: Path) -> None:
    good, bad = find_config("fleets", "one"), written(tmp_path, "fleets", FLEET.replace("version: 1", "version: x"))
    outcome = run("check", good, bad, tmp_path / "nothing.yaml", tmp_path)
    assert outcome.exit_code == 2
    assert outcome.stdout.count("ok ") == 1
    assert "cannot be read" in outcome.stderr and "is a folder" in outcome.stderr
    assert outcome.stderr.splitlines()[-1] == "error: 3 of 4 files wrong"


def test_everything_that_ships_is_right() -> None:
    outcome = run("check")
    assert outcome.exit_code == 0, outcome.stderr
    for kind in ("vehicles", "fleets", "controllers", "conditions", "campaigns", "paths", "reference", "joysticks"):
        assert outcome.stdout.count(f"config/{kind}/") == len(list_configs(kind)) > 0, kind


def test_a_lost_axis_is_a_warning_that_names_it(tmp_path: Path) -> None:
    """Without vertical thrusters nobody dives; that it rights itself needs none."""
    lines = [line for line in VEHICLE.splitlines() if not re.search("name: thruster[5678]", line)]
    text = re.sub(r", thruster[5-8]\b", "", "\n".join(lines))
    path = written(tmp_path, "vehicles", text)
    for arguments in (("check", path), ("vehicle", "show", path)):
        outcome = run(*arguments)
        assert outcome.exit_code == 0
        assert re.search(
            r"^warning: .*mine.yaml: thrusters: .* rank 3 < 6: no thrust along heave, and .*; expected", outcome.stderr
        )
        assert outcome.stderr.count("\n") == 1, "once is enough"
