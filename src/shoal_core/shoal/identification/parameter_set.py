"""A fit as a vehicle file: the one it began with, and one more parameter set with source, data and covariance."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from shoal.config import atomic
from shoal.config.files import find_config, read_yaml
from shoal.identification.fit import Fit
from shoal.identification.motion_data import MotionData
from shoal.identification.unknowns import OF_HEAVE, WAYS
from shoal.vehicles.description import Vehicle
from shoal.vehicles.vehicle_file_v1 import upgraded

Array = NDArray[np.float64]
NAME = "identified"


def data_hash(data: Sequence[MotionData]) -> str:
    """Of all numbers that the fit has seen."""
    digest = hashlib.sha256()
    for entry in data:
        digest.update(np.ascontiguousarray(entry.states).tobytes() + np.ascontiguousarray(entry.thrust_N).tobytes())
    return digest.hexdigest()[:12]


def write_parameter_set(
    found: Fit, prior: Vehicle, prior_file: str | Path, data: Sequence[MotionData], file: Path, date: str
) -> None:
    """The vehicle file that the fit started from, with the set `identified` as its default."""
    path = find_config("vehicles", prior_file)
    whole: dict[str, Any] = copy.deepcopy(read_yaml(path))
    if whole.get("version") == 1:
        whole = upgraded(path, whole)
    entry: dict[str, Any] = copy.deepcopy(whole["sets"][prior.parameter_set])
    origin = (
        f"identified {date} from {sum(d.duration_s for d in data):.0f} s of motion (data {data_hash(data)}, "
        f"s² {found.misfit:.2f}), prior {prior.parameter_set}"
    )
    entry["source"] = f"{origin}; sources: {'; '.join(dict.fromkeys(d.source for d in data))}"
    v = found.vehicle
    for key, value in (
        ("mass", v.mass_kg),
        ("weight", v.weight_N),
        ("center_of_buoyancy", v.cb_m),
        ("added_mass", np.diag(v.added_mass)),
        ("linear_damping", np.diag(v.linear_damping)),
        ("quadratic_damping", np.diag(v.quadratic_damping)),
    ):
        entry[key] = {"value": _plain(value), "unit": entry[key]["unit"], "source": origin}
    for way in WAYS:
        if (heave := getattr(v, way)) is not None:
            for key, name in OF_HEAVE.items():
                entry[way][key] = {
                    "value": _plain(getattr(heave, name)),
                    "unit": entry[way][key]["unit"],
                    "source": origin,
                }
    entry["added_mass_coriolis"] = v.added_mass_coriolis
    for actuator in entry["actuators"]:
        actuator["lag"] = {"value": _plain(found.value("thruster lag")[0]), "unit": "s", "source": origin}
    whole["sets"][NAME], whole["default_set"] = entry, NAME
    text = f"# {origin}\n# One sigma of each unknown, then their correlations:\n" + _covariance_comment(found)
    atomic.write_text(file, text + yaml.safe_dump(whole, sort_keys=False, allow_unicode=True, width=120))


def _covariance_comment(found: Fit) -> str:
    sigma = np.sqrt(np.diag(found.covariance))
    correlation = found.covariance / np.outer(sigma, sigma)
    lines = [f"#   {u.name}: {value:.6g} ± {s:.3g} {u.unit}" for u, value, s in
             zip(found.unknowns, found.values, sigma, strict=True)]  # fmt: skip
    pairs = [
        f"#   {found.unknowns[i].name} / {found.unknowns[j].name}: {correlation[i, j]:+.2f}"
        for i, j in zip(*np.nonzero(np.triu(np.abs(correlation) > 0.5, 1)), strict=True)
    ]
    return "\n".join(lines + pairs) + "\n"


def _plain(value: float | Array) -> float | list[float]:
    if isinstance(value, np.ndarray):
        return [round(float(x), 6) for x in value]
    return round(float(value), 6)
