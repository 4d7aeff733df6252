"""The model in DART itself, Gazebo's physics engine.

Built from the SDF's numbers as gz-physics builds it (spatial inertia with added mass, gravity by hand, propellers on
servo joints) and pushed as the systems of gz-sim push it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gazebo_forces import Array, GazeboVehicle, State, propeller_speed, thruster_force
from shoal.simulation.plant import Plant
from shoal.vehicles.description import load_vehicle
from shoal_gazebo.sdf_reader import LinkNumbers, Pose, read_model
from swimming import ROOT, difference, instant, start, tumbling, world

dart = pytest.importorskip("dartpy", reason="dartpy (DART, Gazebo's physics engine) is not installed")
MODEL = ROOT / "models" / "bluerov2_heavy" / "model.sdf"


def spatial_inertia(link: LinkNumbers) -> Any:
    """DART orders [angular, linear]."""
    inertia = dart.dynamics.Inertia()
    inertia.setMass(link.mass_kg)
    inertia.setMoment(link.inertia_kgm2)
    inertia.setLocalCOM(link.com_m)
    if link.added_mass is not None:
        order = [3, 4, 5, 0, 1, 2]
        inertia.setSpatialTensor(inertia.getSpatialTensor() + link.added_mass[np.ix_(order, order)])
    return inertia


def transform(pose: Pose) -> Any:
    result = dart.math.Isometry3()
    result.set_translation(pose.position_m)
    result.set_rotation(pose.rotation)
    return result


class DartVehicle:
    """One skeleton in one DART world."""

    def __init__(self, path: Path, state: State) -> None:
        self.forces = GazeboVehicle(read_model(path), world())  # only for damping and for the thrusters' rules
        self.world = dart.simulation.World()
        self.world.setGravity(world().gravity_enu)
        self.world.setTimeStep(world().step_s)
        skeleton = dart.dynamics.Skeleton("vehicle")
        joint, self.base = skeleton.createFreeJointAndBodyNodePair(
            None, dart.dynamics.FreeJointProperties(), self._properties("base_link")
        )
        self.hull = self.forces.model.links["base_link"]
        self.base.setInertia(spatial_inertia(self.hull))
        self.base.setGravityMode(False)
        self.propellers = [self._propeller(skeleton, s.values["joint_name"]) for s in self.forces.thrusters]
        joint.setTransform(transform(Pose(state.position, state.rotation)))
        self.world.addSkeleton(skeleton)

    @staticmethod
    def _properties(name: str) -> Any:
        return dart.dynamics.BodyNodeProperties(dart.dynamics.BodyNodeAspectProperties(name))

    def _propeller(self, skeleton: Any, name: str) -> Any:
        numbers = self.forces.model.joints[name]
        link = self.forces.model.links[numbers.child]
        properties = dart.dynamics.RevoluteJointProperties()
        properties.mName, properties.mAxis = name, numbers.axis
        properties.mT_ParentBodyToJoint = transform(link.pose)
        joint, body = skeleton.createRevoluteJointAndBodyNodePair(self.base, properties, self._properties(link.name))
        body.setInertia(spatial_inertia(link))
        joint.setActuatorType(dart.dynamics.ActuatorType.SERVO)
        return joint, body, numbers.axis

    def step(self, commands: Array) -> None:
        """What gz-sim and gz-physics do in one step."""
        angular_linear = self.base.getSpatialVelocity()
        nu = np.concatenate([angular_linear[3:], angular_linear[:3]])
        damping = self.forces.hydrodynamics.wrench(nu)
        self.base.addExtForce(damping[:3], np.zeros(3), True, True)
        self.base.addExtTorque(damping[3:], True)
        gravity = world().gravity_enu
        self.base.addExtForce(self.hull.mass_kg * gravity, self.hull.com_m, False, True)
        for shape in self.hull.shapes:
            self.base.addExtForce(-world().density_kgpm3 * shape.volume_m3 * gravity, shape.center_m, False, True)
        for system, command, (joint, body, axis) in zip(self.forces.thrusters, commands, self.propellers, strict=True):
            force = thruster_force(system, float(command))
            body.addExtForce(force * axis, np.zeros(3), True, True)
            joint.setCommand(0, propeller_speed(system, force))
        self.world.step()

    def state(self) -> State:
        """Where it is."""
        at = self.base.getWorldTransform()
        return State(np.array(at.translation()), np.array(at.rotation()), np.zeros(3), np.zeros(3))


@pytest.mark.parametrize(
    ("roll_deg", "seconds", "scale"), [(0.0, 8.0, 1.0), (40.0, 6.0, 0.0)], ids=["tumbling", "roll"]
)
def test_dart_swims_like_the_core(roll_deg: float, seconds: float, scale: float) -> None:
    vehicle = load_vehicle("bluerov2_heavy")
    core, state = start(roll_deg)
    plant = Plant([instant(vehicle)], core[None], substep_s=0.001)
    real = DartVehicle(MODEL, state)
    for command in tumbling(vehicle, seconds, scale):
        plant.step([command], 0.5)
        for _ in range(round(0.5 / world().step_s)):
            real.step(command)
        distance, angle = difference(plant.states[0], real.state())
        assert distance < 0.01
        assert angle < 0.5
    assert np.linalg.norm(plant.states[0, :3] - core[:3]) > 0.1, "it did move"
