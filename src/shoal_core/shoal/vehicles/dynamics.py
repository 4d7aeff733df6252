"""The symbolic vehicle: one source for plant, controller, estimator and generated models.

Equation numbers are those of Fosso et al. 2023 (../docs/model.md lists them). NED world, FRD body.
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca

from shoal.messages.state import ATTITUDE, POSITION, TWIST
from shoal.vehicles.parameters import Structure

SX = ca.SX


def skew(a: SX) -> SX:
    """S(a): S(a) b = a × b."""
    return ca.skew(a)


def rotation(q: SX) -> SX:
    """R(q), body to NED, for a unit quaternion [η ε]."""
    s = skew(q[1:4])
    return SX.eye(3) + 2 * q[0] * s + 2 * s @ s


def rotation_euler(euler: SX) -> SX:
    """R(roll, pitch, yaw), zyx, body to NED."""
    cr, sr = ca.cos(euler[0]), ca.sin(euler[0])
    cp, sp = ca.cos(euler[1]), ca.sin(euler[1])
    cy, sy = ca.cos(euler[2]), ca.sin(euler[2])
    return ca.blockcat(
        [
            [cy * cp, -sy * cr + cy * sp * sr, sy * sr + cy * cr * sp],
            [sy * cp, cy * cr + sr * sp * sy, -cy * sr + sp * sy * cr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def quaternion_rate(q: SX, omega: SX) -> SX:
    """q̇ = T(q) ω."""
    eta, eps = q[0], q[1:4]
    return 0.5 * ca.vertcat(-ca.dot(eps, omega), eta * omega + ca.cross(eps, omega))


def euler_rate(euler: SX, omega: SX) -> SX:
    """Θ̇ = T(Θ) ω; singular at pitch ±90°."""
    cr, sr, tp, cp = ca.cos(euler[0]), ca.sin(euler[0]), ca.tan(euler[1]), ca.cos(euler[1])
    return ca.vertcat(
        omega[0] + tp * (sr * omega[1] + cr * omega[2]),
        cr * omega[1] - sr * omega[2],
        (sr * omega[1] + cr * omega[2]) / cp,
    )


def coriolis_of_matrix(m: SX, nu: SX) -> SX:
    """C(ν) from any symmetric mass matrix (4.25): −S(M11ν1+M12ν2) off the diagonal, −S(M21ν1+M22ν2) on it."""
    linear = skew(m[0:3, 0:3] @ nu[0:3] + m[0:3, 3:6] @ nu[3:6])
    angular = skew(m[3:6, 0:3] @ nu[0:3] + m[3:6, 3:6] @ nu[3:6])
    return ca.blockcat([[SX.zeros(3, 3), -linear], [-linear, -angular]])


def coriolis_without_linear_velocity(p: dict[str, SX], nu: SX) -> SX:
    """C_RB that depends on ω alone (4.52): the form that stays right with relative velocities."""
    m, lever, w = p["mass"], skew(p["cg"]), skew(nu[3:6])
    return ca.blockcat([[m * w, -m * w @ lever], [m * lever @ w, -skew(inertia_matrix(p) @ nu[3:6])]])


def inertia_matrix(p: dict[str, SX]) -> SX:
    """I_b from its six numbers."""
    i = p["inertia"]
    return ca.blockcat([[i[0], i[3], i[4]], [i[3], i[1], i[5]], [i[4], i[5], i[2]]])


def rigid_body_mass_symbolic(p: dict[str, SX]) -> SX:
    """M_RB about CO (4.21)."""
    lever = skew(p["cg"])
    return ca.blockcat([[p["mass"] * SX.eye(3), -p["mass"] * lever], [p["mass"] * lever, inertia_matrix(p)]])


def immersed(depth: SX, height: SX) -> SX:
    """Share below the surface of a sphere of this height whose centre is that deep: 0 … 1, without a kink."""
    s = ca.fmax(0, ca.fmin(1, depth / height + 0.5))
    return s * s * (3 - 2 * s)


class Dynamics:
    """Builds the symbolic right-hand sides for one structure of vehicle."""

    def __init__(self, structure: Structure, coriolis: str = "velocity_free") -> None:
        if coriolis not in ("velocity_free", "lagrangian"):
            raise ValueError(f"coriolis = '{coriolis}', expected 'velocity_free' or 'lagrangian'")
        self.structure = structure
        self.coriolis = coriolis

    def wrench(self, p: dict[str, SX], forces: SX) -> SX:
        """τ = B u."""
        return self.input_columns(p) @ forces

    def input_columns(self, p: dict[str, SX]) -> SX:
        """B (6,n)."""
        return ca.reshape(p["thrust"], self.structure.thruster_count, 6).T

    def restoring(self, p: dict[str, SX], r_bn: SX, depth: SX) -> SX:
        """g (4.38); `r_bn` = R, body to NED; `depth` of the origin below the calm surface."""
        down = r_bn[2, :].T  # Rᵀ [0 0 1]
        gravity, buoyancy = p["weight"] * down, -p["buoyancy"] * down
        if self.structure.surface:
            buoyancy = immersed(depth + ca.dot(down, p["cb"]), p["height"]) * buoyancy
        g = -ca.vertcat(gravity + buoyancy, ca.cross(p["cg"], gravity) + ca.cross(p["cb"], buoyancy))
        return g + self._waterplane(p["waterplane"], down, depth) if self.structure.waterplane else g

    def _waterplane(self, stiffness: SX, down: SX, depth: SX) -> SX:
        """From the energy ½ k_z z² + ½ k_φ d_y² + ½ k_θ d_x², d the body's view of down: right at any attitude.

        Of joined vessels with z s·d + Q_xy d_x d_y + Q_xz d_x d_z + Q_yz d_y d_z besides: not all float where CO is.
        """
        lift, slope = stiffness[0] * depth, ca.vertcat(stiffness[2] * down[0], stiffness[1] * down[1], 0)
        if self.structure.hulls:
            s, xy, xz, yz = stiffness[3:6], stiffness[6], stiffness[7], stiffness[8]
            lift += ca.dot(s, down)
            slope += depth * s + ca.blockcat([[0, xy, xz], [xy, 0, yz], [xz, yz, 0]]) @ down
        return ca.vertcat(lift * down, -ca.cross(down, slope))

    def propellers_immersed(self, p: dict[str, SX], r_bn: SX, depth: SX, places: SX) -> SX:
        """Share of each input's thrust (n,) that is left; `places` (3,n) in the body frame."""
        depths = depth + (r_bn[2, :] @ places).T
        return ca.if_else(p["propeller"] > 0, immersed(depths, ca.fmax(p["propeller"], 1e-9)), 1)

    def damping(self, p: dict[str, SX], nu: SX) -> SX:
        """D_L ν + D_NL(ν) ν, with the heave coefficients of the direction of motion where they differ."""
        if self.structure.hulls:
            return self._hull_damping(p, nu)
        magnitude = ca.fabs(nu) * nu
        if self.structure.full_damping:
            linear, quadratic = (ca.reshape(p[k], 6, 6).T for k in ("linear", "quadratic"))
            if self.structure.directional_heave:
                linear[2, 2] = ca.if_else(nu[2] < 0, p["heave_rise"][0], linear[2, 2])
                quadratic[2, 2] = ca.if_else(nu[2] < 0, p["heave_rise"][1], quadratic[2, 2])
            return linear @ nu + quadratic @ magnitude
        linear, quadratic = SX(p["linear"]), SX(p["quadratic"])
        if self.structure.directional_heave:
            linear[2] = ca.if_else(nu[2] < 0, p["heave_rise"][0], linear[2])
            quadratic[2] = ca.if_else(nu[2] < 0, p["heave_rise"][1], quadratic[2])
        return linear * nu + quadratic * magnitude

    def _hull_damping(self, p: dict[str, SX], nu: SX) -> SX:
        """Σ Tᵢᵀ dᵢ(Tᵢ ν): the drag of each hull at its own velocity."""
        per = self.structure.sizes["hulls"] // self.structure.hulls
        total = SX.zeros(6)
        for k in range(self.structure.hulls):
            numbers = p["hulls"][k * per : (k + 1) * per]
            place, turn = numbers[0:3], ca.reshape(numbers[3:12], 3, 3)  # Rᵀ: CasADi reads column by column
            own = ca.vertcat(turn @ (nu[0:3] + ca.cross(nu[3:6], place)), turn @ nu[3:6])
            damping = ca.reshape(numbers[12:], (per - 12) // 2, 2)
            if self.structure.full_damping:
                linear, quadratic = (ca.reshape(damping[:, i], 6, 6).T for i in (0, 1))
                drag = linear @ own + quadratic @ (ca.fabs(own) * own)
            else:
                drag = (damping[:, 0] + damping[:, 1] * ca.fabs(own)) * own
            force = turn.T @ drag[0:3]
            total += ca.vertcat(force, ca.cross(place, force) + turn.T @ drag[3:6])
        return total

    def added_mass(self, p: dict[str, SX]) -> SX:
        """M_A."""
        return ca.reshape(p["added_mass"], 6, 6).T if self.structure.full_added_mass else ca.diag(p["added_mass"])

    def acceleration(self, p: dict[str, SX], r_bn: SX, nu: SX, tau: SX, current_ned: SX, depth: SX) -> SX:
        """ν̇ (4.50–4.54) at `depth`: forces from the relative velocity, constant irrotational current."""
        current = r_bn.T @ current_ned
        nu_r = ca.vertcat(nu[0:3] - current, nu[3:6])
        if self.coriolis == "velocity_free":
            rigid = coriolis_without_linear_velocity(p, nu_r) @ nu_r
        else:
            rigid = coriolis_of_matrix(rigid_body_mass_symbolic(p), nu_r) @ nu_r
        load = tau - rigid - self.damping(p, nu_r) - self.restoring(p, r_bn, depth)
        if self.structure.added_mass_coriolis:
            load -= coriolis_of_matrix(self.added_mass(p), nu_r) @ nu_r
        relative = self._inverse_mass(p, load) @ load
        return relative + ca.vertcat(-ca.cross(nu[3:6], current), SX.zeros(3))

    def _inverse_mass(self, p: dict[str, SX], load: SX) -> SX:
        inverse = SX(6, 6)
        for k, (i, j) in enumerate(self.structure.inverse_mass_pattern):
            entry = p["inverse_mass"][k]
            if self.structure.directional_heave:
                # The added mass goes with the sign of ẇ, which is the sign of the net heave force.
                entry = ca.if_else(load[2] < 0, p["inverse_mass_rise"][k], entry)
            inverse[i, j] = entry
        return inverse

    def quaternion_ode(self, p: dict[str, SX], x: SX, tau: SX, current_ned: SX, norm_gain: float = 0.0) -> SX:
        """ẋ of the 13-state; `norm_gain` pulls |q| back to 1 where no one normalises (Baumgarte)."""
        q, nu = x[ATTITUDE], x[TWIST]
        r_bn = rotation(q)
        q_dot = quaternion_rate(q, nu[3:6]) + norm_gain * q * (1 - ca.dot(q, q))
        return ca.vertcat(r_bn @ nu[0:3], q_dot, self.acceleration(p, r_bn, nu, tau, current_ned, x[2]))

    def euler_ode(self, p: dict[str, SX], x: SX, tau: SX, current_ned: SX) -> SX:
        """ẋ of the 12-state."""
        r_bn, nu = rotation_euler(x[3:6]), x[6:12]
        acceleration = self.acceleration(p, r_bn, nu, tau, current_ned, x[2])
        return ca.vertcat(r_bn @ nu[0:3], euler_rate(x[3:6], nu[3:6]), acceleration)


def rk4(ode: Callable[[SX], SX], x: SX, dt: SX | float) -> SX:
    """One classical Runge–Kutta step."""
    k1 = ode(x)
    k2 = ode(x + dt / 2 * k1)
    k3 = ode(x + dt / 2 * k2)
    k4 = ode(x + dt * k3)
    return x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def normalised(x: SX) -> SX:
    """The 13-state with a unit quaternion."""
    q = x[ATTITUDE]
    return ca.vertcat(x[POSITION], q / ca.norm_2(q), x[7:])
