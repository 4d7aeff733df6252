"""A dead module from single looks: its wrench is missing, and nobody else's explains that."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from shoal.assembly.file import load_assembly
from shoal.estimation.module_loss import LASTING, ModuleLoss, modules_of

Array = NDArray[np.float64]
LEVEL = 20.0
SCALE = np.repeat([1 / 1.5, 1 / 0.15], 3)  # sigmas of a missing force and moment


def watch(assembly: str) -> tuple[ModuleLoss, Array]:
    """And its signatures (6,n)."""
    vehicle = load_assembly(assembly).composite().vehicle
    signatures = SCALE[:, None] * vehicle.input_matrix
    return ModuleLoss(modules_of(vehicle.input_names), signatures), signatures


def thrust(signatures: Array, wrench: Array) -> Array:
    """(n,) the least that gives a wrench (6,)."""
    return np.asarray(np.linalg.pinv(signatures) @ (SCALE * wrench))


@pytest.mark.parametrize("assembly", ["pair", "pair_turned", "tandem", "square"])
@pytest.mark.parametrize("dead", [0, 1])
def test_a_busy_module_that_dies_is_found_by_three_looks(assembly: str, dead: int) -> None:
    loss, signatures = watch(assembly)
    rng = np.random.default_rng(7)
    u = thrust(signatures, np.array([60.0, 25.0, 20.0, 0.0, 0.0, 0.0]))
    lost = -signatures[:, loss.inputs[dead]] @ u[loss.inputs[dead]]
    found = [loss.at_once(lost + rng.normal(size=6), u, LEVEL)[0] for _ in range(LASTING)]
    assert found == [-1] * (LASTING - 1) + [dead]
    assert loss.at_once(rng.normal(size=6), u, LEVEL)[0] == -1  # and no longer


@pytest.mark.parametrize("assembly", ["pair", "pair_turned", "tandem", "square"])
def test_a_current_that_all_push_against_is_no_loss(assembly: str) -> None:
    loss, signatures = watch(assembly)
    rng = np.random.default_rng(8)
    for _ in range(200):
        current = rng.normal(size=6) * [60, 60, 60, 0, 0, 0]
        for share in np.linspace(0.0, 1.2, 25):  # of it that thrust makes up for by now
            found, _ = loss.at_once(SCALE * current, thrust(signatures, -share * current), LEVEL)
            assert found == -1
