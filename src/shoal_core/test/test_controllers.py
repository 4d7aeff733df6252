"""Controllers by name: shipped ones, one's own, their files; and what the runtime does around any of them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import BaseModel

from shoal.control.base import Controller, ControllerContext, ControlOutput, Estimate, NeighbourForecast, Neighbours
from shoal.control.nmpc.controller import NmpcController
from shoal.control.pid import PidController, PidSettings
from shoal.control.registry import CONTROLLERS, controller_class, controller_settings, load_controller_file
from shoal.control.settings import MOST_STEPS, NmpcSettings
from shoal.errors import ShoalError
from shoal.estimation.timing_bank import TimingBankSettings
from shoal.fleet.agent import Agent
from shoal.fleet.agent_settings import AgentSettings, Timing
from shoal.fleet.generate import resolve_fleet
from shoal.fleet.setup import runtime_settings, settings_of
from shoal.messages.command import Command
from shoal.messages.directive import Directive
from shoal.messages.health import Code, Mode, Severity
from shoal.messages.limits import Limits
from shoal.messages.odometry import Odometry
from shoal.messages.preview import Preview
from shoal.messages.state import State
from shoal.messages.wording import log_line
from shoal.plugins import find
from shoal.tasks.run import RunSpec, simulate
from solver_problems import rov

Array = NDArray[np.float64]
PERIOD_S = 0.05
HERE = State.at_rest((0.0, 0.0, 5.0)).array

OWN = """
import numpy as np
from pydantic import Field
from shoal.config.file_model import FileModel
from shoal.control.base import Controller, ControlOutput


class Gains(FileModel):
    push_N: float = Field(default=1.0, ge=0, le=5)


class Pusher(Controller):
    Settings = Gains
    lag_compensation = False

    def __init__(self, context):
        self.thrust_N = np.full(len(context.vehicle.thrusters), context.settings.push_N)

    def step(self, t_s, estimate, directive, neighbours):
        return ControlOutput.of_thrust(self.thrust_N, estimate)


class NotOne:
    pass


a_number = 3
"""


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A user's module in the folder he works in."""
    (tmp_path / "my_pusher.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p not in ("", str(tmp_path))])
    monkeypatch.delitem(sys.modules, "my_pusher", raising=False)
    return "my_pusher"


# -- names --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CONTROLLERS)
def test_every_shipped_name_has_a_file_and_a_class(name: str) -> None:
    file = load_controller_file(name)
    assert file.name == file.controller == name
    assert issubclass(controller_class(file), Controller)


def test_a_controller_of_ones_own_runs_by_its_name(own_module: str) -> None:
    recording = simulate(RunSpec("circle", "2", "ideal", 0, f"{own_module}:Pusher", duration_s=0.5))
    assert recording.about.controller == "my_pusher:Pusher"
    assert (recording.mode == int(Mode.CONTROLLER)).all()
    for thrust in recording.thrust_N.values():
        assert thrust == pytest.approx(1.0)


def test_a_file_gives_ones_own_controller_its_settings(own_module: str, tmp_path: Path) -> None:
    file = tmp_path / "harder.yaml"
    file.write_text(f"version: 1\ncontroller: {own_module}:Pusher\nsettings: {{push_N: 2.5}}\n")
    recording = simulate(RunSpec("circle", "1", "ideal", 0, str(file), duration_s=0.2))
    assert recording.about.controller == "harder"
    assert next(iter(recording.thrust_N.values())) == pytest.approx(2.5)
    file.write_text(f"version: 1\ncontroller: {own_module}:Pusher\nsettings: {{push_N: 9}}\n")
    with pytest.raises(ShoalError, match=r"controller harder: push_N = 9: expected less than or equal to 5"):
        load_controller_file(file)


def test_wrong_names_are_refused_with_a_sentence(own_module: str) -> None:
    with pytest.raises(ShoalError, match=r"^controller: 'pidd' is unknown; did you mean 'pid'\?"):
        load_controller_file("pidd")
    with pytest.raises(ShoalError, match=r"^controller = 'no_such:Name': No module named 'no_such'; expected"):
        load_controller_file("no_such:Name")
    for name, reason in (("Missing", "has no attribute"), ("NotOne", "derived from"), ("a_number", "is no class")):
        with pytest.raises(ShoalError, match=rf"^controller = '{own_module}:{name}': .*{reason}"):
            load_controller_file(f"{own_module}:{name}")


def test_wrong_names_in_a_file_are_refused_with_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("version: 1\ncontroller: npmc\n")
    with pytest.raises(ShoalError, match=r"controller = 'npmc': unknown; did you mean 'nmpc'\?"):
        load_controller_file(file)
    file.write_text("version: 1\ncontroler: nmpc\n")
    with pytest.raises(ShoalError, match=r"mine.yaml: controler = 'nmpc': unknown key"):
        load_controller_file(file)


# -- settings -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ("{weights: {atitude: 3}}", r"controller mine: weights.atitude = 3: unknown key; expected 'attitude'"),
        ("{weights: {position_xy: -1}}", r"controller mine: weights.position_xy = -1: expected greater than or equal"),
        ("{penalties: {distance_hard: 400}}", r"controller mine: penalties: hard penalties .*expected"),
        ("{fine_steps: 40, coarse_steps: 24}", r"fine_steps \+ coarse_steps = 64, expected at most 63"),
        ("{thrust_step_N: .nan}", r"thrust_step_N = nan: expected a finite number"),
    ],
)
def test_wrong_settings_are_refused_with_a_sentence(tmp_path: Path, settings: str, sentence: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(f"version: 1\ncontroller: nmpc\nsettings: {settings}\n")
    with pytest.raises(ShoalError, match=sentence):
        load_controller_file(file)


def test_the_longest_horizon_that_is_accepted_is_solved() -> None:
    """64 steps were accepted once and never solved."""
    settings = NmpcSettings(fine_steps=50, fine_step_s=0.05, coarse_steps=MOST_STEPS - 50, coarse_step_s=0.1)
    output = one_step(NmpcController(context(settings)))
    assert output.usable and output.issues == ()
    assert len(output.times_s) == MOST_STEPS + 1


def test_settings_of_a_file_act(tmp_path: Path) -> None:
    """In the controller, and in what is around it; the fleet's limits hold unless the file has its own."""
    fleet = resolve_fleet("two")
    file = tmp_path / "mine.yaml"
    file.write_text(
        "version: 1\ncontroller: nmpc\nsettings: {weights: {attitude: 7}}\n"
        "runtime: {lost_s: 9, agent: {thruster_lead: 1.5}}\n"
    )
    loaded = load_controller_file(file)
    assert settings_of(loaded, fleet) == NmpcSettings(
        weights=NmpcSettings().weights.model_copy(update={"attitude": 7.0}), limits=fleet.limits
    )
    around = runtime_settings(loaded)
    assert (around.lost_s, around.agent.thruster_lead) == (9.0, 1.5)
    own = loaded.model_copy(update={"settings": {"limits": {"distance_soft_m": 5.0}}})
    assert settings_of(own, fleet).limits.distance_soft_m == 5.0
    wrong = loaded.model_copy(update={"runtime": {"agent": {"thruster_leed": 1.5}}})
    with pytest.raises(ShoalError, match=r"controller mine: runtime: agent.thruster_leed = 1.5: unknown key"):
        runtime_settings(wrong)


def test_settings_of_a_file_change_a_run(tmp_path: Path) -> None:
    states = []
    for gain in (0.9, 0.4):
        file = tmp_path / "mine.yaml"
        file.write_text(f"version: 1\ncontroller: pid\nsettings: {{position: {{position_per_s: {gain}}}}}\n")
        states.append(simulate(RunSpec("circle", "2", "default", 0, str(file), duration_s=2.0)).states)
    assert np.abs(states[0] - states[1]).max() > 0.05


def test_given_settings_go_over_the_file_s() -> None:
    file = load_controller_file("pid").model_copy(update={"settings": {"anti_windup_per_s": 2.0}})
    assert controller_settings(file) == PidSettings(anti_windup_per_s=2.0)
    assert controller_settings(file, {"anti_windup_per_s": 3.0}) == PidSettings(anti_windup_per_s=3.0)


# -- what is around a controller ----------------------------------------------------------------------------------


def context(settings: Any) -> ControllerContext:
    return ControllerContext("a", rov(), settings, Limits(), PERIOD_S, ())


class Nobody:
    """A forecast without neighbours."""

    def at(self, times_s: Array) -> Neighbours:
        return Neighbours((), np.zeros(0), np.zeros((0, len(times_s), 3)), np.zeros(0))


def directive() -> Directive:
    return Directive("follow", Preview(np.array([0.0]), HERE[None, :3], np.zeros((1, 3)), np.zeros(1)))


def one_step(controller: Controller) -> ControlOutput:
    estimate = Estimate(0.0, 0.0, HERE, np.zeros(6), np.zeros(3), True, np.zeros(8), Odometry(0.0, HERE))
    return controller.step(0.0, estimate, directive(), Nobody())


class Scripted(Controller):
    """Raises, or wants steps of thrust."""

    def __init__(self, context: ControllerContext) -> None:
        self.wanted_N = np.zeros(8)
        self.start_s, self.resets, self.raises = 0.0, 0, False

    def step(
        self, t_s: float, estimate: Estimate, directive: Directive, neighbours: NeighbourForecast
    ) -> ControlOutput:
        if self.raises:
            raise ZeroDivisionError("one over nothing")
        self.start_s = estimate.start_s - t_s
        return ControlOutput.of_thrust(self.wanted_N, estimate)

    def reset(self) -> None:
        self.resets += 1


class Unaltered(Scripted):
    """Whose thrust goes out as it is."""

    lag_compensation = False


def agent_with(controller: Controller, lag_s: float = 0.15) -> Agent:
    """All changes of thrust doubled; the timing as configured: this vehicle answers no thrust, which shows nothing."""
    timing = Timing(PERIOD_S, 0.05, lag_s)
    settings = AgentSettings(timing=TimingBankSettings(enabled=False), moment_lead=2.0)
    return Agent("a", rov(), controller, settings, timing, lambda: 0.0, 0.75)


def ticked(agent: Agent, ticks: int, first: int = 0) -> Command:
    for k in range(first, first + ticks):
        command = agent.step(k * PERIOD_S, Odometry(k * PERIOD_S, HERE), directive(), {})
    return command


def test_a_controller_that_raises_falls_back_and_comes_back() -> None:
    controller = Scripted(context(None))
    agent = agent_with(controller)
    assert ticked(agent, 3).health.mode is Mode.CONTROLLER
    controller.raises = True
    command = ticked(agent, 1, 3)
    assert command.health.mode is Mode.STATION_KEEPING  # it left no plan to go on with
    issue = next(issue for issue in command.health.issues if issue.code is Code.CONTROLLER_RAISED)
    assert issue.severity is Severity.ERROR
    assert log_line(issue) == "controller raised ZeroDivisionError: one over nothing"
    assert np.isfinite(command.thrust_N).all()
    assert controller.resets == 1
    controller.raises = False
    command = ticked(agent, 1, 4)
    assert command.health.mode is Mode.CONTROLLER
    assert command.health.issues == ()


@pytest.mark.parametrize(
    ("wanted_N", "words"), [(np.full(8, np.nan), "not finite"), (np.zeros(7), "shape (7,), expected (8,)")]
)
def test_thrust_that_cannot_be_sent_never_reaches_a_thruster(wanted_N: Array, words: str) -> None:
    controller = Scripted(context(None))
    agent = agent_with(controller)
    ticked(agent, 3)
    controller.wanted_N = wanted_N
    command = ticked(agent, 1, 3)
    assert np.isfinite(command.thrust_N).all() and command.thrust_N.shape == (8,)
    assert any(words in log_line(issue) for issue in command.health.issues)


@pytest.mark.parametrize(("kind", "sent"), [(Unaltered, 1.0), (Scripted, 2.0)])
def test_lag_compensation_is_the_controller_s_choice(kind: type[Scripted], sent: float) -> None:
    """Without: thrust goes out unaltered, for the state when it reaches the thrusters. With: a change is doubled."""
    controller = kind(context(None))
    agent = agent_with(controller)
    ticked(agent, 3)
    controller.wanted_N = np.linspace(-1.0, 1.0, 8)
    command = ticked(agent, 1, 3)
    assert command.thrust_N == pytest.approx(sent * controller.wanted_N)
    assert controller.start_s == pytest.approx(0.05 if kind is Unaltered else 0.05 + 0.15 / 2)


def test_settings_that_cannot_change_while_running_are_refused() -> None:
    with pytest.raises(ShoalError, match=r"Scripted: settings cannot change while running; expected a restart"):
        Scripted(context(None)).apply(None)
    nmpc = NmpcController(context(NmpcSettings()))
    with pytest.raises(ShoalError, match=r"fine_steps = 10: cannot change while running; expected a restart"):
        nmpc.apply(NmpcSettings(fine_steps=10))
    pid = PidController(context(PidSettings()))
    pid.apply(PidSettings(anti_windup_per_s=1.0))
    assert pid.settings.anti_windup_per_s == 1.0


def test_a_controller_that_predicts_nothing_shares_the_state_it_steered_by() -> None:
    plan = ticked(agent_with(Scripted(context(None))), 3).plan
    assert len(plan.times_s) == 1
    assert plan.positions_m[0] == pytest.approx(HERE[:3], abs=0.01)


def undescribed(model: type[BaseModel], prefix: str = "") -> list[str]:
    found = []
    for name, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            found += undescribed(inner, f"{prefix}{name}.")
        elif not field.description:
            found.append(prefix + name)
    return found


@pytest.mark.parametrize("model", [AgentSettings, *(find("controller", n, CONTROLLERS).Settings for n in CONTROLLERS)])
def test_every_setting_is_described(model: type[BaseModel]) -> None:
    """`ros2 param describe` and the station show it."""
    assert not undescribed(model)
