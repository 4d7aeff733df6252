"""`shoal up`: real processes, looked after, stopped in order, and never left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

pytest.importorskip("rclpy")

from typer.testing import CliRunner

from shoal.cli import app
from shoal.errors import ShoalError
from shoal_ros.node_list import NodeSpec, fleet_nodes, vehicle_node
from shoal_ros.spawn import Child
from shoal_ros.supervisor import STOP_ORDER, Supervisor
from shoal_ros.up import Log

ROOT = Path(__file__).resolve().parents[1]
WALL_S = 90.0  # only keeps a broken test from hanging


class Up:
    """A `shoal up` in the background."""

    def __init__(self, *words: str) -> None:
        environment = {k: v for k, v in os.environ.items() if k != "ROS_DOMAIN_ID"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "shoal.cli", "up", *words],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
        )  # fmt: skip
        self.lines: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip())

    def wait_for(self, condition: Callable[[], object], what: str) -> None:
        end = time.monotonic() + WALL_S
        while not condition():
            assert time.monotonic() < end, f"waited for {what}:\n" + "\n".join(self.lines)
            time.sleep(0.05)

    def wait_for_line(self, words: str, count: int = 1) -> None:
        self.wait_for(lambda: sum(words in line for line in self.lines) >= count, words)

    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def child(self, words: str) -> psutil.Process:
        return next(c for c in self.children() if words in " ".join(c.cmdline()))


@pytest.fixture
def up() -> Iterator[Callable[..., Up]]:
    started: list[Up] = []

    def start(*words: str) -> Up:
        started.append(Up(*words))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.process.terminate()
            each.process.wait(WALL_S)


@pytest.mark.ros
@pytest.mark.slow
def test_runs_for_the_time_given_and_ends_well(up: Callable[..., Up]) -> None:
    run = up("one", "--path", "circle", "--for", "11", "--rate", "0")
    assert run.process.wait(WALL_S) == 0, "\n".join(run.lines)
    run.wait_for_line("stopped")
    text = "\n".join(run.lines)
    assert "ROS_DOMAIN_ID=" in text and "/rov1/mpc" in text
    assert text.index("running") < text.index("10 of 11 s, largest tilt") < text.index("stopping: controllers first")


@pytest.mark.ros
@pytest.mark.slow
def test_vehicles_of_five_kinds(up: Callable[..., Up]) -> None:
    """An ROV, a joined pair, a six-thruster ROV and two vessels: a controller for each, one plant for all."""
    run = up("mixed", "--path", "circle", "--for", "2", "--rate", "0", "--ready", "0")
    assert run.process.wait(WALL_S) == 0, "\n".join(run.lines)
    run.wait_for_line("stopped")
    for name in ("rov", "pair", "six", "vessel", "boat"):
        assert any(f"/{name}/mpc" in line and line.endswith("following") for line in run.lines), name


@pytest.mark.ros
@pytest.mark.slow
def test_crashed_node_is_started_again_and_ctrl_c_stops_all(up: Callable[..., Up]) -> None:
    run = up("one", "--path", "circle")
    run.wait_for_line("following")
    run.child("shoal_mpc.mpc").kill()
    run.wait_for_line("/rov1/mpc crashed (killed by SIGKILL): starting it again")
    run.wait_for_line("zero thrust for rov1")
    run.wait_for_line("back end", count=2)
    run.wait_for_line("running", count=2)
    everybody = run.children()
    assert len(everybody) >= 3
    run.process.send_signal(signal.SIGINT)
    assert run.process.wait(WALL_S) == 0
    assert not any(c.is_running() and c.status() != psutil.STATUS_ZOMBIE for c in everybody)
    run.wait_for_line("stopped")
    assert not any("did not end" in line for line in run.lines)


@pytest.mark.ros
@pytest.mark.slow
def test_kill_9_leaves_no_orphans(up: Callable[..., Up]) -> None:
    run = up("one")
    run.wait_for_line("running")
    everybody = run.children()
    run.process.kill()
    _, left = psutil.wait_procs(everybody, timeout=WALL_S)
    assert not left


def test_bad_input_is_told_before_anything_starts() -> None:
    for words, expected in (
        (["nosuch"], "fleets: 'nosuch' is unknown"),
        (["two", "--path", "nosuch"], "path: 'nosuch' is unknown"),
        (["two", "--condition", "nosuch"], "conditions: 'nosuch' is unknown"),
        (["two", "--plant", "concrete"], "expected builtin or none"),
    ):
        done = CliRunner().invoke(app, ["up", *words])
        assert done.exit_code == 2 and expected in done.output, done.output


# -- the list of nodes ------------------------------------------------------------------------------------------------


def by_name(nodes: list[NodeSpec]) -> dict[str, NodeSpec]:
    return {node.full_name: node for node in nodes}


def test_two_vehicles_on_the_circle() -> None:
    nodes = by_name(fleet_nodes("two", path="circle", seed=4, rate=2.0))
    assert set(nodes) == {"/dynamics", "/rov1/mpc", "/rov2/mpc", "/guidance", "/display"}
    plant = nodes["/dynamics"].parameters
    assert (plant["path"], plant["seed"], plant["rate"], plant["odometry_rate_hz"]) == ("circle", 4, 2.0, 20.0)
    assert nodes["/guidance"].parameters["test"] == "circle"
    assert nodes["/rov2/mpc"].parameters["vehicle"] == "rov2"
    for name in ("/rov1/mpc", "/rov2/mpc", "/guidance", "/display"):
        assert nodes[name].parameters["use_sim_time"] is True
    assert "use_sim_time" not in plant  # it makes the time


def test_vehicles_of_ones_own() -> None:
    nodes = by_name(fleet_nodes("two", plant="none"))
    assert "/dynamics" not in nodes
    assert nodes["/rov1/mpc"].parameters["use_sim_time"] is False
    assert vehicle_node("two", "rov1", plant="none") == nodes["/rov1/mpc"]
    gazebo = by_name(fleet_nodes("two", plant="none", use_sim_time=True))
    assert gazebo["/guidance"].parameters["use_sim_time"] is True


def test_a_lossy_condition_brings_the_relay() -> None:
    nodes = by_name(fleet_nodes("two", condition="loss_70"))
    assert nodes["/relay"].parameters["loss"] == 0.7
    mpc = nodes["/rov1/mpc"].parameters
    assert mpc["use_relay"] is True and mpc["odometry_fallback_s"] == 0.0
    assert "/relay" not in by_name(fleet_nodes("two", condition="loss_70", use_relay=False))
    assert "/relay" in by_name(fleet_nodes("two", use_relay=True))
    assert "/relay" in by_name(fleet_nodes("two", condition="one_vehicle_stopped"))  # it is silent too


def test_recording(tmp_path: Path) -> None:
    recorder = by_name(fleet_nodes("two", record=str(tmp_path / "dive")))["/recorder"].parameters
    assert (recorder["folder"], recorder["name"], recorder["autostart"]) == (str(tmp_path), "dive", True)
    assert (recorder["condition"], recorder["seed"], recorder["controller"]) == ("default", 0, "nmpc")
    assert "condition" not in by_name(fleet_nodes("two", record=str(tmp_path), plant="none"))["/recorder"].parameters


def test_files_travel_as_full_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.yaml").write_text((ROOT / "config/fleets/two.yaml").read_text())
    monkeypatch.chdir(tmp_path)
    assert fleet_nodes("mine.yaml")[0].parameters["fleet"] == str(tmp_path / "mine.yaml")
    assert fleet_nodes("2")[0].parameters["fleet"] == "two"


def test_unknown_words_are_refused() -> None:
    with pytest.raises(ShoalError, match="nosuch"):
        fleet_nodes("two", path="nosuch")
    with pytest.raises(TypeError):
        fleet_nodes("two", colour="red")


def test_every_parameter_keeps_its_type_on_the_command_line() -> None:
    words = NodeSpec(
        "p", "e", "n", "/ns", {"f": 3.0, "i": 3, "b": True, "s": "3", "t": 1e-6, "l": [1.0, 2.5]}
    ).command()
    assert words[2:3] == ["p.e"]
    given = [word for word in words if ":=" in word]
    assert given == ["__node:=n", "__ns:=/ns", "f:=3.0", "i:=3", "b:=true", 's:="3"', "t:=1e-06", "l:=[1.0, 2.5]"]


# -- looking after them -----------------------------------------------------------------------------------------------


def python(code: str, name: str = "x", executable: str = "node") -> NodeSpec:
    class Python(NodeSpec):
        def command(self) -> list[str]:
            return [sys.executable, "-c", code]

    return Python("p", executable, name)


def watch(supervisor: Supervisor, until: Callable[[], object]) -> bool:
    end = time.monotonic() + WALL_S
    while supervisor.watch():
        if until():
            return True
        assert time.monotonic() < end
        time.sleep(0.02)
    return False


def test_gives_up_on_bad_input_and_says_so() -> None:
    messages: list[str] = []
    supervisor = Supervisor({}, lambda *_: None, messages.append)
    supervisor.start([python("raise SystemExit(2)")])
    assert not watch(supervisor, lambda: False)
    assert supervisor.failed and "will not start" in messages[0]


def test_ends_when_a_node_ends_on_purpose() -> None:
    supervisor = Supervisor({}, lambda *_: None, lambda _: None)
    supervisor.start([python("pass"), python("import time; time.sleep(600)", "y")])
    assert not watch(supervisor, lambda: False)
    assert not supervisor.failed
    supervisor.stop()
    assert not any(child.running for child in supervisor.children.values())


def test_stops_controllers_first_and_kills_who_will_not_hear() -> None:
    ended: list[str] = []
    messages: list[str] = []
    deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
    polite = (
        "import signal, sys, time\nsignal.signal(15, lambda *_: sys.exit(print('bye')))\n"
        "print('up', flush=True)\ntime.sleep(600)"
    )
    lines: list[str] = []

    def line(spec: NodeSpec, text: str) -> None:
        lines.append(text)
        if text == "bye":
            ended.append(spec.executable)

    supervisor = Supervisor({}, line, messages.append)
    supervisor.start([python(deaf, "d", "dynamics"), python(polite, "r", "recorder"), python(polite, "m", "mpc")])
    assert watch(supervisor, lambda: lines.count("up") == 3)
    supervisor.stop(wall_s=2.0)
    assert ended == ["mpc", "recorder"]
    assert "did not end" in messages[0]
    assert not any(child.running for child in supervisor.children.values())
    assert STOP_ORDER[0] == "mpc" and STOP_ORDER[-1] == "recorder"


def test_log_paints_only_terminals(capsys: pytest.CaptureFixture[str]) -> None:
    spec = NodeSpec("p", "e", "n", "/v")
    Log([spec], coloured=False).line(spec, "[WARN] careful")
    Log([spec], coloured=True).line(spec, "[ERROR] ouch")
    plain, coloured = capsys.readouterr().out.splitlines()
    assert plain.endswith("/v/n warn: careful") and "\033" not in plain
    assert "\033[31merror: ouch\033[0m" in coloured


def test_child_is_told_when_its_parent_goes() -> None:
    """A parent that is killed outright cannot tell anybody: the kernel does."""
    code = (
        "from shoal_ros.spawn import Child\nfrom shoal_ros.node_list import NodeSpec\nimport sys, time\n"
        "class S(NodeSpec):\n    def command(self): return [sys.executable, '-c', 'import time; time.sleep(600)']\n"
        "print(Child(S('p', 'e', 'n'), {}).process.pid, flush=True)\ntime.sleep(600)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = psutil.Process(int(parent.stdout.readline()))
    parent.kill()
    parent.wait()
    psutil.wait_procs([child], timeout=WALL_S)
    assert not child.is_running()


def test_child_keeps_what_was_printed() -> None:
    child = Child(python("print('one'); print('two')"), {})
    assert child.wait(WALL_S) and child.code == 0
    assert child.lines == ["one", "two"]
