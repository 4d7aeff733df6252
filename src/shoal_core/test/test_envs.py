"""Environments for learning: the libraries' own checkers, repeatability, and that a good policy is rewarded."""

from __future__ import annotations

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import parallel_api_test, parallel_seed_test

from shoal.envs import EnvSettings, FleetEnv, VehicleEnv
from shoal.errors import ShoalError
from shoal.messages.state import POSITION
from shoal.vehicles.description import load_vehicle

SHORT = EnvSettings(duration_s=1.0)


def test_gymnasium_s_checker_passes() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*render.*")
        warnings.filterwarnings("ignore", message=".*gymnasium.make.*")
        check_env(VehicleEnv(settings=SHORT), skip_render_check=True)


def test_pettingzoo_s_checkers_pass() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        parallel_api_test(FleetEnv("two", SHORT), num_cycles=60)
    parallel_seed_test(lambda: FleetEnv("two", SHORT), num_cycles=20)


def test_vectorised_copies_are_those_one_by_one() -> None:
    envs = gymnasium.make_vec("shoal/Vehicle-v0", num_envs=3, vectorization_mode="sync", settings=SHORT)
    found, _ = envs.reset(seed=[4, 5, 6])
    single = VehicleEnv(settings=SHORT)
    for k, seed in enumerate((4, 5, 6)):
        first, _ = single.reset(seed=seed)
        np.testing.assert_array_equal(found[k], first)
    assert not np.array_equal(found[0], found[1])
    steps, *_ = envs.step(np.full((3, 8), 0.5, dtype=np.float32))
    last, *_ = single.step(np.full(8, 0.5, dtype=np.float32))
    np.testing.assert_array_equal(steps[2], last)


def test_observations_are_measured_and_rewards_are_true() -> None:
    """With ±1 m of position noise the observation differs from the truth; the reward does not."""
    noisy = VehicleEnv(condition="noise_uniform_1", duration_s=2.0)
    noisy.reset(seed=3)
    episode = noisy._episode
    off = []
    for _ in range(20):
        seen, reward, *_ = noisy.step(np.zeros(8, dtype=np.float32))
        place, _, _ = episode.setpoint(noisy._name)
        true_m = float(np.linalg.norm(place - episode.world.states[0, POSITION]))
        off.append(abs(true_m - float(np.linalg.norm(seen[:3]))))
        assert reward == pytest.approx(np.exp(-true_m) - 0.1 * true_m, abs=0.2)  # the rest is tilt
    assert max(off) > 0.05


def test_a_simple_policy_earns_more_than_none() -> None:
    """A spring and a damper on the observed error, spread over the thrusters: the observation means what it says."""
    vehicle = load_vehicle("bluerov2_heavy", "von_benzon2022")
    returns = {}
    for name in ("none", "spring"):
        env = VehicleEnv(condition="ideal", duration_s=15.0)
        seen, info = env.reset(seed=2)
        total, over = 0.0, False
        while not over:
            action = np.zeros(8)
            if name == "spring":
                force = 30 * seen[0:3] + 40 * (seen[3:6] - seen[11:14])
                moment = np.array([-4 * seen[14], -4 * seen[15], 6 * np.arctan2(seen[9], seen[10]) - 4 * seen[16]])
                thrust = np.linalg.pinv(vehicle.input_matrix) @ np.concatenate([force, moment])
                action = np.clip(thrust / vehicle.input_max_N, -1, 1)
            seen, reward, failed, late, info = env.step(action.astype(np.float32))
            total, over = total + reward, failed or late
        returns[name] = total, info["error_m"]
    assert returns["spring"][0] > returns["none"][0] + 50 and returns["spring"][1] < 0.3, returns


def test_who_comes_too_close_or_gets_lost_is_done() -> None:
    env = FleetEnv("two", EnvSettings(duration_s=30.0))
    env.reset(seed=1)
    env._episode.world.plant.states[1, POSITION] = env._episode.world.plant.states[0, POSITION] + [0.3, 0.0, 0.0]
    still = {name: np.zeros(8, dtype=np.float32) for name in env.agents}
    _, rewards, done, late, infos = env.step(still)
    assert all(done.values()) and not any(late.values()) and env.agents == []
    assert max(rewards.values()) < -15 and "from another vehicle" in next(iter(infos.values()))["failure"]


def test_bad_input_is_refused_at_once() -> None:
    for make, words in (
        (lambda: VehicleEnv("two"), "has 2 vehicles; expected one"),
        (lambda: VehicleEnv(condition="defualt"), "did you mean 'default'"),
        (lambda: FleetEnv("two", task="join"), "expected a task whose vehicles stay"),
    ):
        with pytest.raises(ShoalError, match=words):
            make()
