"""A controller of one's own: PD on position and attitude. The simulator, campaigns and ROS run it by its name:

shoal simulate --controller my_controller:MyController --set controller.stiffness_per_s2=1.5
"""

from __future__ import annotations

import numpy as np

import shoal
from shoal.frames import rotation_matrix


class Settings(shoal.FileModel):
    """Per unit of mass, so that any vehicle will do."""

    stiffness_per_s2: float = 2.0
    damping_per_s: float = 4.0


class MyController(shoal.Controller):
    """Along the setpoint, level, bow where the setpoint wants it. Takes no notice of its neighbours."""

    Settings = Settings

    def __init__(self, context: shoal.ControllerContext) -> None:
        self.gains, self.vehicle = context.settings, context.vehicle
        self.steady = shoal.SteadyThrust(context.vehicle)  # against weight, drag, current and model errors
        self.allocation = np.linalg.pinv(context.vehicle.thrust_matrix)  # (n,6)

    def step(
        self, t_s: float, estimate: shoal.Estimate, directive: shoal.Directive, neighbours: shoal.NeighbourForecast
    ) -> shoal.ControlOutput:
        """Thrust (n,) in N, from the state predicted for when it takes effect."""
        state = shoal.State(estimate.state)
        goal = directive.setpoint.at(np.array([estimate.start_s]))
        position_m, velocity_mps = goal.positions_m[0], goal.velocities_mps[0]  # (3,) NED
        heading = 0.0 if goal.headings_rad is None else float(goal.headings_rad[0])
        r = rotation_matrix(state.attitude)  # body to NED
        bow, down = r.T @ [np.cos(heading), np.sin(heading), 0.0], r.T @ [0.0, 0.0, 1.0]  # as seen from the vehicle
        turn = np.cross([1.0, 0.0, 0.0], bow) + np.cross([0.0, 0.0, 1.0], down)
        force = self.gains.stiffness_per_s2 * (r.T @ (position_m - state.position_m))
        force += self.gains.damping_per_s * (r.T @ velocity_mps - state.velocity_mps)
        moment = 4.0 * turn - 2.0 * state.rate_radps
        thrust = self.steady(velocity_mps, heading, estimate.wrench, estimate.current_mps)
        thrust = thrust + self.allocation @ np.concatenate([self.vehicle.mass_kg * force, moment])
        thrust = np.clip(thrust, self.vehicle.thrust_min_N, self.vehicle.thrust_max_N)
        return shoal.ControlOutput.of_thrust(thrust, estimate)


if __name__ == "__main__":
    run = shoal.simulate(controller="my_controller:MyController", duration_s=20.0, seed=1)
    print(shoal.rows(run)[["controller", "failed", "rmse_m", "setpoint_error_max_m"]].to_string())
