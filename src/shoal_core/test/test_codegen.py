"""Generated code: one library for many processes that start together, and a way to work without a compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from shoal import codegen
from shoal.errors import ShoalWarning
from shoal.simulation.plant import Plant
from shoal.vehicles.description import load_vehicle

LIGHT = """
import casadi as ca, numpy as np
from shoal.codegen import compiled
x = ca.SX.sym("x", 6)
y = x
for _ in range(40):
    y = ca.sin(y) + ca.mtimes(ca.DM(np.arange(36).reshape(6, 6) / 36), y)
f = compiled(ca.Function("f", [x], [y]))
assert f.is_a("External")
print(np.array(f(np.arange(6) / 6)).ravel().tolist())
"""
PLANT = """
import numpy as np
from shoal.simulation.plant import Plant
from shoal.vehicles.description import load_vehicle
plant = Plant([load_vehicle("bluerov2_heavy", "wu2018")], np.array([[0, 0, 5.0, 1.0, *np.zeros(9)]]))
plant.step(np.full((1, 8), 3.0), 0.02)
print(plant.states[0].tolist())
"""


def start(program: str, cache: Path, **variables: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    environment |= {"SHOAL_CACHE": str(cache), "OMP_NUM_THREADS": "1"} | variables
    return subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def result(process: subprocess.Popen[str]) -> np.ndarray:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return np.array(eval(out))


def test_six_processes_start_together_on_an_empty_cache(tmp_path: Path) -> None:
    """One compiles, five wait; all have the same code in the end."""
    cache, log, wrapper = tmp_path / "deep" / "cache", tmp_path / "log", tmp_path / "cc"
    wrapper.write_text(
        f'#!/bin/sh\ncase "$*" in *-shared*) echo run >> {log} ;; esac\nexec {codegen.compiler()} "$@"\n'
    )
    wrapper.chmod(0o755)
    states = [result(p) for p in [start(LIGHT, cache, SHOAL_COMPILER=str(wrapper)) for _ in range(6)]]
    assert log.read_text() == "run\n"
    assert len(list(cache.glob("*.so"))) == 1
    assert not [p for p in cache.iterdir() if p.is_dir()], "scratch folders should be gone"
    for other in states[1:]:
        np.testing.assert_array_equal(other, states[0])


def test_without_a_compiler_the_virtual_machine_does_the_work(tmp_path: Path) -> None:
    variables = {"off": {"SHOAL_COMPILER": "off"}, "none": {"PATH": str(tmp_path)}}  # switched off; nothing to be found
    processes = {name: start(PLANT, tmp_path / name, **v) for name, v in variables.items()}
    here = Plant([load_vehicle("bluerov2_heavy", "wu2018")], np.array([[0, 0, 5.0, 1.0, *np.zeros(9)]]))
    here.step(np.full((1, 8), 3.0), 0.02)
    for name, process in processes.items():
        np.testing.assert_allclose(result(process), here.states[0], atol=1e-14)
        assert not list((tmp_path / name).glob("*.so"))


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SHOAL_CACHE", str(tmp_path))
    return tmp_path


def function_of(text: str) -> ca.Function:
    x = ca.SX.sym("x", 3)
    return ca.Function("f", [x], [eval(text, {"x": x, "ca": ca})])


def test_the_cache_goes_by_content(own_cache: Path) -> None:
    first = codegen.compiled(function_of("ca.sin(x) + 1"))
    codegen.compiled(function_of("ca.sin(x) + 1"))
    assert len(list(own_cache.glob("*.so"))) == 1
    second = codegen.compiled(function_of("ca.sin(x) + 2"))
    assert len(list(own_cache.glob("*.so"))) == 2
    np.testing.assert_allclose(np.array(second(np.ones(3)) - first(np.ones(3))), 1.0)


def test_a_failing_compiler_is_told(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codegen, "compiler", lambda: "/bin/false")
    with pytest.warns(ShoalWarning, match="failed on f .* expected a working C compiler"):
        function = codegen.compiled(function_of("ca.tan(x)"))
    np.testing.assert_allclose(np.array(function(np.ones(3))).ravel(), np.tan(1.0))


def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("SHOAL_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.warns(ShoalWarning, match="cannot be written .* SHOAL_CACHE"):
        function = codegen.compiled(function_of("ca.tan(x)"))
    np.testing.assert_allclose(np.array(function(np.ones(3))).ravel(), np.tan(1.0))


def test_a_call_through_buffers_is_the_same_call(own_cache: Path) -> None:
    function = codegen.compiled(function_of("ca.vertcat(ca.dot(x, x), ca.exp(x))"))
    buffered = codegen.Buffered(function)
    for seed in range(3):
        argument = np.random.default_rng(seed).uniform(-1, 1, 3)
        buffered.inputs[0][:] = argument
        buffered.call()
        np.testing.assert_array_equal(buffered.outputs[0], np.array(function(argument)).ravel())


def test_generated_code_never_lands_in_the_working_directory(
    own_cache: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path_factory.mktemp("working")
    monkeypatch.chdir(here)
    codegen.compiled(function_of("ca.cos(x)"))
    assert list(here.iterdir()) == []
