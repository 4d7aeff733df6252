"""Free decay and steps of one vehicle in one picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from shoal.reports.plots.style import COLOURS, GREY, new_figure, save, styled
from shoal.simulation.drop import Drop
from shoal.vehicles.description import AXES, Vehicle

_AXIS_COLOUR = dict(zip(AXES, COLOURS, strict=True))


def draw_drop(vehicle: Vehicle, drop: Drop, path: Path) -> Path:
    """Write the picture."""
    with styled():
        figure = new_figure(12, 7)
        (attitude, depth), (linear, angular) = figure.subplots(2, 2)
        t, track = drop.release.times_s, drop.release.states[:, 0]
        for axis, angle in zip(("roll", "pitch"), drop.tilt_deg.T, strict=True):
            attitude.plot(t, angle, color=_AXIS_COLOUR[axis], label=axis)
        attitude.axhline(0, color=GREY, linewidth=0.8)
        attitude.set_title("Released askew, thrusters off: the vehicle rights itself")
        attitude.set_ylabel("angle [°]")
        attitude.legend(ncols=2, loc="upper right")

        depth.plot(t, track[:, 2] - track[0, 2], color=_AXIS_COLOUR["heave"], label="simulated")
        slope = drop.float_speed_mps
        tail = t > t[-1] / 2
        line = track[-1, 2] - track[0, 2] + slope * (t - t[-1])
        depth.plot(t[tail], line[tail], "--", color=GREY, label=f"{slope:+.3f} m/s in closed form".replace("-", "−"))
        depth.set_title("… and " + ("rises" if slope < 0 else "sinks"))
        depth.set_ylabel("depth gained [m]")
        depth.invert_yaxis()
        depth.legend(loc="upper right" if slope > 0 else "lower right")

        for panel, group, unit in ((linear, AXES[:3], "m/s"), (angular, ("yaw",), "rad/s")):
            for step in (s for s in drop.steps if s.axis in group):
                colour = _AXIS_COLOUR[step.axis]
                panel.plot(step.times_s, step.speeds, color=colour, label=f"{step.axis}, {step.force_text}")
                if np.abs(step.speeds_alone - step.speeds).max() > 0.05 * step.terminal:
                    panel.plot(step.times_s, step.speeds_alone, color=colour, linewidth=1, alpha=0.6)
                panel.axhline(step.terminal, color=colour, linestyle="--", linewidth=1)
            panel.set_ylabel(f"speed [{unit}]")
            panel.set_xlabel("time [s]")
            panel.set_ylim(bottom=0)
            panel.legend(loc="lower right")
        linear.set_title("Full thrust from rest  (dashed: formula, thin: not held level)")
        angular.set_title("Full turn from rest")
        for panel in (attitude, depth, linear, angular):
            panel.margins(x=0)
        depth.set_xlabel("time [s]")
        attitude.set_xlabel("time [s]")
        title = f"{vehicle.name}  ·  {vehicle.parameter_set}"
        figure.suptitle(title, x=0.01, ha="left", fontsize=15, fontweight="bold")
        return save(figure, path)
