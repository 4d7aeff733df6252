"""The committed model file: in step with its sources, right in every number, and the check can tell when it is not."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shoal.errors import ShoalError
from shoal.vehicles.description import Vehicle, load_vehicle
from shoal_gazebo.body import Water, build_body, contact_plates, not_in_gazebo
from shoal_gazebo.check import check_model, thrust_matrix
from shoal_gazebo.generate import SHIPPED, generated_files, out_of_step, shipped_water, write_files
from shoal_gazebo.render import render_model
from shoal_gazebo.sdf_reader import read_model

ROOT = Path(__file__).parents[3]
MODEL = ROOT / "models" / "bluerov2_heavy" / "model.sdf"
SETS = ("wu2018", "ng2024", "von_benzon2022")
THESIS_B = np.array(
    [
        [0.7071, 0.7071, 0.7071, 0.7071, 0, 0, 0, 0],
        [-0.7071, 0.7071, 0.7071, -0.7071, 0, 0, 0, 0],
        [0, 0, 0, 0, -1, 1, 1, -1],
        [0.0601, -0.0601, -0.0601, 0.0601, -0.218, -0.218, 0.218, 0.218],
        [0.0601, 0.0601, 0.0601, 0.0601, 0.12, -0.12, 0.12, -0.12],
        [-0.1888, 0.1888, -0.1888, 0.1888, 0, 0, 0, 0],
    ]
)


@pytest.mark.parametrize("name", SHIPPED)
def test_committed_files_are_in_step(name: str) -> None:
    files = generated_files(load_vehicle(name))
    assert set(files) == {f"models/{name}/{n}" for n in ("model.sdf", "model.config")} | {
        "worlds/ocean.sdf",
        "worlds/tank.sdf",
    }
    assert out_of_step(files, ROOT) == [], "run `shoal gazebo generate` and commit"


def test_a_changed_file_is_noticed_and_mended(tmp_path: Path) -> None:
    files = generated_files(load_vehicle("bluerov2_heavy"))
    assert len(write_files(files, tmp_path)) == 4
    path = tmp_path / "models/bluerov2_heavy/model.sdf"
    path.write_text(path.read_text().replace("-13.7", "-13.8"))
    assert out_of_step(files, tmp_path) == ["models/bluerov2_heavy/model.sdf"]
    assert write_files(files, tmp_path) == ["models/bluerov2_heavy/model.sdf"]
    assert write_files(files, tmp_path) == []


def test_published_numbers_by_hand() -> None:
    """von Benzon 2022, typed in again here, out of the XML without any of the package's code."""
    model = ET.parse(MODEL).getroot().find("model")
    assert model is not None
    assert sum(float(m.text or "") for m in model.iter("mass")) == pytest.approx(13.5, abs=1e-9)
    volumes = [4 / 3 * np.pi * float(r.text or "") ** 3 for r in model.findall("link/collision/geometry/sphere/radius")]
    volumes += [
        np.prod([float(v) for v in (s.text or "").split()]) for s in model.findall("link/collision/geometry/box/size")
    ]
    gravity = 132.390 / 13.5
    assert sum(volumes) * 1000 * gravity == pytest.approx(131.409, abs=1e-6)
    added = model.find("link/inertial/fluid_added_mass")
    assert added is not None
    wanted = {"xx": 6.36, "yy": 7.12, "zz": 18.68, "pp": 0.189, "qq": 0.135, "rr": 0.222}
    assert {e.tag: float(e.text or "") for e in added if float(e.text or "") != 0} == wanted
    first, plugin = model.findall("plugin[@name='gz::sim::systems::Hydrodynamics']")
    assert [(e.tag, e.text) for e in first] == [("link_name", "base_link")]  # for the current's correction
    linear = {"xU": 13.7, "yV": 0.0, "zW": 33.0, "kP": 0.0, "mQ": 0.8, "nR": 0.0}
    quadratic = {"xUabsU": 141.0, "yVabsV": 217.0, "zWabsW": 190.0, "kPabsP": 1.19, "mQabsQ": 0.47, "nRabsR": 1.5}
    values = {e.tag: float(e.text or "") for e in plugin if e.tag[0] in "xyzkmn"}
    assert values == {key: -value for key, value in (linear | quadratic).items()}


def test_thrust_matrix_is_the_core_s_and_the_thesis_s() -> None:
    flu, _ = thrust_matrix(read_model(MODEL))
    frd = np.diag([1, -1, -1, 1, -1, -1]) @ flu
    assert frd == pytest.approx(load_vehicle("bluerov2_heavy").thrust_matrix, abs=1e-6)
    assert frd == pytest.approx(THESIS_B, abs=1e-3)


@pytest.mark.parametrize("name", SETS)
def test_every_number_of_every_set(name: str, tmp_path: Path) -> None:
    vehicle, water = load_vehicle("bluerov2_heavy", name), shipped_water()
    assert wrong(vehicle, water, render_model(vehicle, water), tmp_path) == []


def skewed() -> Vehicle:
    """A vehicle with nothing zero: signs that a diagonal hides show here."""
    rng = np.random.default_rng(5)
    symmetric = rng.uniform(-1, 1, (6, 6))
    inertia = np.array([[0.3, 0.02, -0.03], [0.02, 0.35, 0.04], [-0.03, 0.04, 0.4]])
    return replace(
        load_vehicle("bluerov2_heavy"),
        inertia_kgm2=inertia,
        cg_m=np.array([0.01, -0.02, 0.03]),
        cb_m=np.array([-0.005, 0.004, -0.01]),
        added_mass=np.diag([6.0, 13, 15, 0.5, 0.6, 0.7]) + 0.1 * (symmetric + symmetric.T),
        linear_damping=np.diag([4.0, 6, 5, 3, 3, 3]) + 0.2 * rng.uniform(-1, 1, (6, 6)),
        quadratic_damping=np.diag([18.0, 21, 36, 5, 5, 5]) + 0.2 * rng.uniform(-1, 1, (6, 6)),
    )


def test_full_matrices_and_offset_centres(tmp_path: Path) -> None:
    vehicle, water = skewed(), Water(9.81, 1025.0)
    text = render_model(vehicle, water)
    assert wrong(vehicle, water, text, tmp_path) == []
    model = ET.fromstring(text).find("model")
    assert model is not None
    # By hand: x stays, y and z turn round. So x-y and x-z entries change sign, y-z ones don't.
    assert (
        float(model.findtext("link/inertial/inertia/ixy") or "")
        < 0
        < float(model.findtext("link/inertial/inertia/iyz") or "")
    )
    surplus = vehicle.weight_N / 9.81 - vehicle.mass_kg
    yr = vehicle.added_mass[1, 5] - surplus * vehicle.cg_m[0]
    assert float(model.findtext("link/inertial/fluid_added_mass/yr") or "") == pytest.approx(yr, abs=1e-9)
    xv = model.findtext("plugin/xV")
    assert float(xv or "") == pytest.approx(vehicle.linear_damping[0, 1], abs=1e-9), "minus for braking, minus for y"


def wrong(vehicle: Vehicle, water: Water, text: str, folder: Path) -> list[str]:
    path = folder / "model.sdf"
    path.write_text(text, encoding="utf-8")
    return [f.what for f in check_model(read_model(path), vehicle, water) if not f.ok]


MISTAKES = {  # what is written instead of what, and which finding must tell
    "heavier": ("<mass>13.46<", "<mass>13.47<", "weight: Σ mass · g = W"),
    "CG moved": ("0 0 0.00012630", "0 0 0.01012630", "centre of gravity"),
    "inertia": ("<izz>0.368", "<izz>0.369", "inertia about CO"),
    "impossible inertia": ("<izz>0.368", "<izz>1.368", "inertias that a body can have"),
    "added mass swapped": ("<yy>7.12<", "<yy>18.68<", "added mass in FLU"),
    "added mass twice": ("<xU>", "<xDotU>-5.5</xDotU><xU>", "Hydrodynamics: empty, then damping only"),
    "no empty one in front": ("base_link</link_name>\n    </plugin>", "thruster1</link_name>\n    </plugin>",
                              "Hydrodynamics: empty, then damping only"),
    "damping pushes": ("<xU>-13.7", "<xU>13.7", "damping takes energy out"),
    "one-way damping": ("xUabsU", "xUU", "quadratic damping"),
    "thicker plates": ("0.004 0.575", "0.006 0.575", "buoyancy: volume · ρ · g = B"),
    "plate aside": ("<pose>0.2265 0 0", "<pose>0.2365 0 0", "centre of buoyancy"),
    "sphere touches": ("<collide_bitmask>0<", "<collide_bitmask>1<", "contact apart from displacement"),
    "thruster aside": ("<pose>0.156 -0.111 -0.085", "<pose>0.157 -0.111 -0.085", "thrust matrix"),
    "axes turned": ("<axis><xyz>1 0 0<", "<axis><xyz>-1 0 0<", "thrust matrix"),
    "limit": ("<max_thrust_cmd>39.91<", "<max_thrust_cmd>49.91<", "thrust limits and dead bands"),
    "joint renamed": ("thruster3_joint", "thruster_3_joint", "joints as the bridge expects"),
    "one namespace": ("<joint_name>", "<namespace>x</namespace><joint_name>", "thrust topics under the model's name"),
    "flat odometry": ("<dimensions>3<", "<dimensions>2<", "odometry in 3-D, in map"),
    "shared camera": ("<always_on>", "<topic>camera</topic><always_on>", "cameras look forward, named by Gazebo"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_check_finds(mistake: str, tmp_path: Path) -> None:
    right, spoilt, finding = MISTAKES[mistake]
    text = MODEL.read_text(encoding="utf-8")
    assert right in text
    findings = wrong(load_vehicle("bluerov2_heavy"), shipped_water(), text.replace(right, spoilt), tmp_path)
    assert finding in findings


def test_contact_geometry_does_not_move_buoyancy() -> None:
    """Whatever the shell, the sphere makes up for it."""
    vehicle, water = replace(load_vehicle("bluerov2_heavy"), cb_m=np.array([0.01, 0.0, -0.02])), shipped_water()
    for size in ((0.457, 0.575, 0.254), (0.3, 0.3, 0.2), (0.6, 0.5, 0.3)):
        body = build_body(replace(vehicle, size_m=size), water)
        plates = contact_plates(size)
        volumes = [*(np.prod(p.size_m) for p in plates), 4 / 3 * np.pi * body.displacement_radius_m**3]
        centers = [*(p.center_m for p in plates), body.displacement_center_m]
        assert sum(volumes) * water.density_kgpm3 * water.gravity_mps2 == pytest.approx(vehicle.buoyancy_N)
        assert np.average(centers, axis=0, weights=volumes) == pytest.approx([0.01, 0, 0.02])


def test_what_gazebo_cannot_hold_is_said() -> None:
    water = shipped_water()
    with pytest.raises(ShoalError, match="thinner plates"):
        build_body(replace(load_vehicle("bluerov2_heavy", "wu2018"), size_m=(2.0, 2.0, 2.0)), water)
    with pytest.raises(ShoalError, match="not symmetric"):
        build_body(replace(load_vehicle("bluerov2_heavy", "wu2018"), added_mass=np.triu(np.ones((6, 6)))), water)
    with pytest.raises(ShoalError, match="no rigid body"):
        build_body(replace(load_vehicle("bluerov2_heavy", "wu2018"), inertia_kgm2=np.diag([0.004, 0.01, 0.01])), water)
    assert not_in_gazebo(load_vehicle("bluerov2_heavy", "wu2018")) == [
        "thruster lag (0.15 s): the Thruster system follows its command at once"
    ]
    assert len(not_in_gazebo(load_vehicle("bluerov2_heavy", "ng2024"))) == 3


def test_camera_shows_the_sight_cone() -> None:
    (camera,) = read_model(MODEL).cameras
    assert camera.fov_rad == pytest.approx(2 * np.deg2rad(60))
    assert camera.pose.position_m[0] > 0.2, "at the bow"
    assert render_model(load_vehicle("bluerov2_heavy"), shipped_water(), camera=False).count("<sensor") == 0
    wide = render_model(load_vehicle("bluerov2_heavy"), shipped_water(), cone_deg=120)
    assert "<horizontal_fov>2.967" in wide, "no flat image shows more than 170 degrees"


def test_a_vehicle_of_another_type_gets_a_plain_box() -> None:
    text = render_model(replace(load_vehicle("bluerov2_heavy"), name="other"), shipped_water())
    assert '<visual name="hull">' in text


def test_broken_files_are_told_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "m.sdf"
    for text, word in (("<sdf", "not XML"), ("<model/>", "expected <sdf>"), ("<sdf/>", "no <model>")):
        path.write_text(text)
        with pytest.raises(ShoalError, match=word):
            read_model(path)
    path.write_text(MODEL.read_text().replace("<mass>13.46</mass>", ""))
    with pytest.raises(ShoalError, match="something is missing"):
        read_model(path)
    with pytest.raises(ShoalError, match="cannot be read"):
        read_model(tmp_path / "none.sdf")
