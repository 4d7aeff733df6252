"""What hands mean: layouts, dead zone, limits, triggers that nobody has touched, and the dead man."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from shoal.cli import app
from shoal.config.files import list_configs
from shoal.errors import ShoalError
from shoal_teleop import pad_test
from shoal_teleop.keys import Keys, split
from shoal_teleop.layout import Layout, StickLimits, load_layout
from shoal_teleop.pad import Pad, Reading
from shoal_teleop.sticks import ZERO, DeadMan, Sticks, Velocity

REST = [0.0, 0.0, 1.0, 0.0, 0.0, 1.0]  # both triggers at rest
HELD = [0, 0, 0, 0, 1, 0]
FREE = [0, 0, 0, 0, 0, 0]


@pytest.fixture(params=["xbox", "playstation"])
def sticks(request: pytest.FixtureRequest) -> Sticks:
    made = Sticks(load_layout(request.param))
    made.velocity(REST, FREE)  # triggers have been seen at rest
    return made


def axes(**changed: float) -> list[float]:
    numbers = {"lx": 0, "ly": 1, "lt": 2, "rx": 3, "ry": 4, "rt": 5}
    made = list(REST)
    for name, value in changed.items():
        made[numbers[name]] = value
    return made


@pytest.mark.parametrize(
    "moved, wanted",
    [
        ({"ly": 1.0}, Velocity(north_mps=0.4)),
        ({"lx": 1.0}, Velocity(east_mps=-0.4)),  # Joy counts left as positive
        ({"rt": -1.0}, Velocity(up_mps=0.2)),
        ({"lt": -1.0}, Velocity(up_mps=-0.2)),
        ({"rx": 1.0}, Velocity(yaw_radps=math.radians(8))),
        ({"ry": 1.0}, ZERO),  # not in use
        ({"ly": 0.05}, ZERO),  # dead zone
    ],
)
def test_full_deflection_is_the_limit(sticks: Sticks, moved: dict[str, float], wanted: Velocity) -> None:
    got = sticks.velocity(axes(**moved), HELD)
    assert got is not None
    assert vars(got) == pytest.approx(vars(wanted), abs=1e-9)


def test_diagonals_are_not_faster_and_the_dead_zone_has_no_step(sticks: Sticks) -> None:
    corner = sticks.velocity(axes(lx=-1.0, ly=1.0), HELD)
    assert corner is not None and math.hypot(corner.east_mps, corner.north_mps) == pytest.approx(0.4)
    just_out = sticks.velocity(axes(ly=sticks.layout.dead_zone + 0.01), HELD)
    assert just_out is not None and 0 < just_out.north_mps < 0.01


def test_without_the_dead_man_or_with_nonsense_there_is_no_command(sticks: Sticks) -> None:
    assert sticks.velocity(axes(ly=1.0), FREE) is None
    assert sticks.velocity(axes(ly=math.nan), HELD) is None
    assert sticks.velocity([0.0, 1.0], HELD) is None  # another kind of pad
    assert sticks.velocity(axes(ly=1.0), [0]) is None


def test_a_trigger_nobody_touched_is_not_half_pressed() -> None:
    fresh = Sticks(load_layout("xbox"))
    untouched = fresh.velocity(axes(lt=0.0, rt=0.0), HELD)
    assert untouched == ZERO
    assert fresh.velocity(axes(lt=0.0, rt=-1.0), HELD) == ZERO  # still not seen at rest
    fresh.velocity(axes(lt=0.0, rt=1.0), HELD)
    pressed = fresh.velocity(axes(lt=0.0, rt=-1.0), HELD)
    assert pressed is not None and pressed.up_mps == pytest.approx(0.2)


def test_mode_buttons_count_once_and_need_the_dead_man_but_for_hold(sticks: Sticks) -> None:
    layout = sticks.layout.buttons
    assert layout.manual is not None and layout.hold is not None
    pressed = list(FREE)
    pressed[layout.manual] = 1
    assert sticks.modes(pressed) == []
    assert sticks.modes(FREE) == []
    pressed[layout.dead_man] = 1
    assert sticks.modes(pressed) == ["manual"]
    assert sticks.modes(pressed) == []  # still down
    stop = list(FREE)
    stop[layout.hold] = 1
    assert sticks.modes(stop) == ["hold"]


def test_dead_man_says_zero_once() -> None:
    man, north = DeadMan(0.5), Velocity(north_mps=0.3)
    assert man.update(0.0, None) is None  # nothing moved: nothing to stop
    assert man.update(0.1, north) == north
    assert man.update(0.2, None) == ZERO and man.update(0.3, None) is None
    assert man.update(1.0, north) == north
    assert man.check(1.4) is None
    assert man.check(1.6) == ZERO and man.check(1.7) is None
    man.update(2.0, north)
    assert man.release() == ZERO and man.release() is None


# -- layouts ----------------------------------------------------------------------------------------------------


def test_shipped_layouts_pass_shoal_check() -> None:
    assert {"xbox", "playstation"} <= set(list_configs("joysticks"))
    from shoal.config.files import find_config

    files = [str(find_config("joysticks", name)) for name in list_configs("joysticks")]
    done = CliRunner().invoke(app, ["check", *files])
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    "key, value, expected",
    [
        (("buttons", "dead_man"), None, "dead_man"),
        (("buttons", "dead_man"), 0, "each button once"),
        (("axes", "east", "axis"), 1, "each axis once"),
        (("axes", "east", "sign"), 2, "sign"),
        (("triggers", "up", "pressed"), 1.0, "well apart"),
        (("dead_zone",), 1.5, "dead_zone"),
        (("limits", "horizontal_mps"), -1, "horizontal_mps"),
        (("speed",), 3, "unknown key"),
    ],
)
def test_wrong_layouts_are_refused_with_a_sentence(
    tmp_path: Path, key: tuple[str, ...], value: Any, expected: str
) -> None:
    data = load_layout("xbox").model_dump()
    place = data
    for part in key[:-1]:
        place = place[part]
    place[key[-1]] = value
    file = tmp_path / "pad.yaml"
    file.write_text(yaml.safe_dump(data))
    with pytest.raises(ShoalError, match=expected):
        load_layout(file)


def test_the_dead_man_is_a_must() -> None:
    data = load_layout("xbox").model_dump()
    del data["buttons"]["dead_man"]
    with pytest.raises(ValueError):
        Layout.model_validate(data)


# -- keyboard ---------------------------------------------------------------------------------------------------


def test_a_key_counts_while_it_repeats() -> None:
    keys = Keys(StickLimits())
    keys.press(0.0, "w")
    assert keys.velocity(0.6) == Velocity(north_mps=0.2)  # until the terminal starts repeating
    keys.press(0.6, "w")
    assert keys.velocity(0.8) is not None and keys.velocity(0.9) is None


def test_keys_add_up_stop_and_scale() -> None:
    keys = Keys(StickLimits())
    keys.press(0.0, "\x1b[A\x1b[Crq")
    both = keys.velocity(0.1)
    assert both is not None
    assert (both.north_mps, both.east_mps) == pytest.approx((0.2 / math.sqrt(2), 0.2 / math.sqrt(2)))
    assert both.up_mps == pytest.approx(0.1) and both.yaw_radps == pytest.approx(math.radians(4))
    keys.press(0.1, " ")
    assert keys.velocity(0.1) is None
    keys.press(0.2, "+" * 20 + "S")
    assert keys.velocity(0.2) == Velocity(north_mps=-0.4)
    assert keys.press(0.3, "mhpt?") == ["manual", "hold", "waypoints", "test"]
    assert not keys.quit
    keys.press(0.4, "x")
    assert keys.quit and keys.velocity(0.4) is None


def test_split() -> None:
    assert split("wW\x1b[D\x1bOA\x1b") == ["w", "w", "a", "w", "\x1b"]


# -- pad --------------------------------------------------------------------------------------------------------


class FakeStick:
    plugged = True

    def __init__(self, number: int) -> None:
        self.number = number

    def init(self) -> None: ...
    def get_init(self) -> bool:
        return True

    def get_name(self) -> str:
        return "fake"

    def get_numaxes(self) -> int:
        return 3

    def get_axis(self, i: int) -> float:
        return (0.5, -1.0, -1.0)[i]

    def get_numhats(self) -> int:
        return 1

    def get_hat(self, _: int) -> tuple[int, int]:
        return (1, -1)

    def get_numbuttons(self) -> int:
        return 2

    def get_button(self, i: int) -> bool:
        return i == 1


class FakePygame:
    error = RuntimeError

    def __init__(self) -> None:
        self.count = 0
        self.event, self.joystick = self, self

    def pump(self) -> None: ...
    def get_count(self) -> int:
        return self.count

    def Joystick(self, number: int) -> FakeStick:
        return FakeStick(number)


def test_a_pad_may_come_late_and_go() -> None:
    pygame = FakePygame()
    pad = Pad(0, pygame)
    assert pad.read() is None and pad.name == ""
    pygame.count = 1
    found = pad.read()
    assert found is not None and pad.name == "fake"
    assert found.axes == [-0.5, 1.0, 1.0, -1.0, -1.0] and found.buttons == [0, 1]  # Joy's signs
    pygame.count = 0
    assert pad.read() is None
    pygame.count = 1
    assert pad.read() is not None


def test_the_test_page_shows_the_pad_and_what_the_fleet_would_do() -> None:
    class Fake:
        name = "pad"
        readings = iter([None, Reading([0.0, 1.0, 1.0, 0.0, 0.0, 1.0], [0] * 6),
                         Reading([0.0, 1.0, 1.0, 0.0, 0.0, 1.0], [0, 0, 0, 0, 1, 0])])  # fmt: skip

        def read(self) -> Reading | None:
            return next(self.readings, None)

        def close(self) -> None:
            pass

    lines: list[str] = []
    assert pad_test.run("xbox", 0, 0.35, Fake(), lines.append) == 0  # type: ignore[arg-type]
    assert lines[0] == "no pad 0: plug one in"
    assert "buttons none" in lines[1] and "dead-man button is not held" in lines[1]
    assert "buttons 4" in lines[2] and "north +" in lines[2]

    class Nobody(Fake):
        readings = iter(())

    assert pad_test.run("xbox", 0, 0.01, Nobody(), lines.append) == pad_test.NO_PAD  # type: ignore[arg-type]
