"""The attitude laws on one page: steps, settling, Bode, old and new model, a dive, beside Ng 2024's stated facts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shoal.autopilot import experiments
from shoal.autopilot.dive import Dive
from shoal.autopilot.experiments import Comparison, Setup, Step, Tracking
from shoal.autopilot.gains import YAW_DAMPING_NMS
from shoal.autopilot.step_response import LoopTiming, Response, overshoot, settling_s
from shoal.reports.page import Part, png, write_page
from shoal.reports.plots.style import COLOURS, GREY, INK, new_figure, styled
from shoal.vehicles.description import Vehicle

Array = NDArray[np.float64]
OMEGAS = (2.0, 3.0, 4.0)
SWEEP = tuple(1.5 + 0.25 * k for k in range(15))
TABLE = (2.0, 2.5, 3.0, 3.5, 4.0, 4.5)
THESIS_TABLE = ((63.80, 3.66), (45.53, 8.26), (37.53, 5.20), (34.18, 4.32), (26.36, 5.27), (24.60, 4.10))
AT_RADPS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.5, 8.0, 10.0, 12.0)
SHOWN_S = 5.0
DIVES = (("pd", 2.0, 0.0), ("pd", 3.0, 0.0), ("pd", 4.0, 0.0), ("model", 4.0, 0.0), ("model", 4.0, 0.14))


def write_autopilot_page(file: Path, vehicle: Vehicle, course: Dive, seed: int = 0) -> None:
    """Of `shoal autopilot report`."""
    undamped = {w: experiments.step_run(vehicle, Setup(kappa=0.0), w) for w in OMEGAS}
    damped = {w: experiments.step_run(vehicle, "pd", w) for w in OMEGAS}
    model = {w: experiments.step_run(vehicle, "model", w) for w in OMEGAS}
    sweep = [experiments.step(vehicle, "pd", w) for w in SWEEP]
    answers = {w: [experiments.frequency(vehicle, "pd", w, at) for at in AT_RADPS] for w in OMEGAS}
    columns = experiments.old_and_new(vehicle, TABLE)
    dives = [experiments.dive(vehicle, course, law, w, ahead, seed) for law, w, ahead in DIVES]
    parts = [
        Part("Facts", "What Ng 2024 states in words, and what was found here. Its curves are not printed as numbers.",
             ("Ng 2024", "found here", ""), _facts(vehicle, undamped, damped, sweep, columns, dives)),
        Part("Yaw steps of 90°", "Grey: the linear reference (5.22). Left: without additional damping; middle: with "
             "κ = 20; right: the model-based law behind its reference filter.",
             picture=_steps(vehicle, (undamped, damped, model))),
        Part("Settling", "±5 %, ω_d from 1.5 to 5 rad/s; grey: the linear reference.",
             picture=_settling(vehicle, sweep)),
        Part("Frequency response", "Sine of 30° in yaw, PD with κ = 20; dashed: the linear reference; dots: ω = ω_d.",
             picture=_bode(vehicle, answers)),
        Part("Old and new model", "Normalised error (5.25) against a stand-in for the tank: the tank's data are not "
             "published, so order and trend count, not the numbers.",
             ("ω_d [rad/s]", "old [%]", "new [%]", "old / new", "thesis old / new [%]"), _table(columns)),
        Part("A pilot's dive", f"{course.duration_s:g} s, noise of 0.5° and 0.5 °/s, seed {seed}; no model error.",
             ("law", "ω_d", "rms roll / pitch / yaw [°]", "IAE [° s]", "effort Σ|u|"), _dives(dives)),
    ]  # fmt: skip
    timing = LoopTiming()
    subtitle = (
        f"{vehicle.name} ({vehicle.parameter_set}); latency {timing.latency_s:g} s, thruster lag "
        f"{timing.thruster_lag_s:g} s and linear yaw damping {YAW_DAMPING_NMS:g} N m s are a calibration to the "
        "thesis's words, not an identification"
    )
    write_page(file, "attitude laws beside Ng 2024", subtitle, _figures(columns, dives), parts)


def _figures(columns: Sequence[Comparison], dives: Sequence[Tracking]) -> list[tuple[str, str, str]]:
    new, ratio = max(c.new for c in columns), min(c.old / c.new for c in columns)
    ahead = " / ".join(f"{v:.1f}" for v in dives[-1].rms_deg)
    return [
        (f"{100 * new:.1f} %", "largest error of the new model", "good" if new <= 0.06 else "bad"),
        (f"{ratio:.1f} ×", "old over new error, least of the columns", "good" if ratio >= 3 else "bad"),
        (f"{ahead}°", "rms of the dive, model-based law with preview", ""),
    ]


def _facts(vehicle: Vehicle, undamped: dict[float, Response], damped: dict[float, Response], sweep: Sequence[Step],
           columns: Sequence[Comparison], dives: Sequence[Tracking]) -> list[tuple[str, str, str]]:  # fmt: skip
    over = {w: 100 * max(0.0, overshoot(found)) for w, found in damped.items()}
    plain = [100 * overshoot(undamped[w]) for w in OMEGAS]
    settled, linear = settling_s(damped[2.0]), experiments.linear_settling_s(vehicle, 2.0)
    jumps = [b.omega_radps for a, b in pairwise(sweep) if b.settling_s > a.settling_s + 0.1]
    gains = [experiments.frequency(vehicle, "pd", w, w)[0] for w in OMEGAS]
    iae = [sum(d.iae_deg_s) for d in dives[:3]]
    effort = [sum(d.effort) for d in dives[:3]]
    olds = [c.old for c in columns]
    rows = [
        ("without κ underdamped, less so as ω_d rises", " / ".join(f"{v:.1f} %" for v in plain),
         plain[0] > plain[1] > plain[2] > 5),
        ("ω_d 2: no overshoot, settles faster than LTI", f"{over[2.0]:.1f} %, {settled:.2f} s, LTI {linear:.2f} s",
         over[2.0] < 0.6 and settled < linear),
        ("ω_d 3: overshoot inside ±5 %", f"{over[3.0]:.1f} %", over[3.0] < 5),
        ("ω_d 4: overshoot outside ±5 %", f"{over[4.0]:.1f} %", over[4.0] > 5),
        ("settling jumps up at ω_d 3.5", "at " + (", ".join(f"{w:g}" for w in jumps) or "none"), jumps == [3.5]),
        ("|H| = 1 at ω = ω_d", " / ".join(f"{g:.2f}" for g in gains), all(abs(g - 1) <= 0.12 for g in gains)),
        ("IAE falls with ω_d", " / ".join(f"{v:.0f}° s" for v in iae), iae[0] > iae[1] > iae[2]),
        ("effort rises with ω_d", " / ".join(f"{v:.0f}" for v in effort), effort[0] < effort[1] < effort[2]),
        ("old model worse in every column, less so with ω_d", " / ".join(f"{100 * v:.1f} %" for v in olds),
         olds == sorted(olds, reverse=True) and all(c.old > c.new for c in columns)),
    ]  # fmt: skip
    return [(fact, found, "holds" if holds else "does not hold") for fact, found, holds in rows]


def _table(columns: Sequence[Comparison]) -> list[tuple[str, ...]]:
    return [
        (f"{c.omega_radps:g}", f"{100 * c.old:.1f}", f"{100 * c.new:.1f}", f"{c.old / c.new:.1f}", f"{o:.1f} / {n:.1f}")
        for c, (o, n) in zip(columns, THESIS_TABLE, strict=True)
    ]


def _dives(dives: Sequence[Tracking]) -> list[tuple[str, ...]]:
    rows = []
    for (law, omega, ahead_s), found in zip(DIVES, dives, strict=True):
        name = law + (f", known {ahead_s:g} s ahead" if ahead_s else "")
        figures = [" / ".join(f"{v:{form}}" for v in values) for values, form in
                   ((found.rms_deg, ".1f"), (found.iae_deg_s, ".0f"), (found.effort, ".0f"))]  # fmt: skip
        rows.append((name, f"{omega:g}", *figures))
    return rows


def _steps(vehicle: Vehicle, runs: Sequence[dict[float, Response]]) -> str:
    with styled():
        figure = new_figure(11, 3.6)
        for plot, found, title in zip(
            figure.subplots(1, 3, sharey=True), runs, ("PD, κ = 0", "PD, κ = 20", "model-based"), strict=True
        ):
            for colour, (omega, response) in zip(COLOURS, found.items(), strict=False):
                t = response.times_s[response.times_s <= SHOWN_S]
                plot.plot(t, 90 * experiments.linear_step(vehicle, omega, t), color=GREY, lw=1)
                plot.plot(t, np.degrees(response.angles_rad[: len(t), 2]), color=colour, label=f"ω_d {omega:g}")
            plot.axhspan(85.5, 94.5, color=GREY, alpha=0.2)
            plot.set(title=title, xlabel="time [s]")
            plot.legend()
        figure.axes[0].set_ylabel("yaw [°]")
        return png(figure)


def _settling(vehicle: Vehicle, sweep: Sequence[Step]) -> str:
    with styled():
        figure = new_figure(11, 3.2)
        plot = figure.subplots()
        linear = [experiments.linear_settling_s(vehicle, s.omega_radps) for s in sweep]
        plot.plot([s.omega_radps for s in sweep], linear, color=GREY, label="linear reference")
        plot.plot(
            [s.omega_radps for s in sweep], [s.settling_s for s in sweep], "o-", color=COLOURS[0], label="PD, κ = 20"
        )
        plot.set(xlabel="ω_d [rad/s]", ylabel="settling [s]", ylim=(0, None))
        plot.legend()
        return png(figure)


def _bode(vehicle: Vehicle, answers: dict[float, list[tuple[float, float]]]) -> str:
    at, fine = np.array(AT_RADPS), np.geomspace(AT_RADPS[0], AT_RADPS[-1], 200)
    with styled():
        figure = new_figure(11, 5.5)
        upper, lower = figure.subplots(2, 1, sharex=True)
        for colour, (omega, found) in zip(COLOURS, answers.items(), strict=False):
            gain_dB = 20 * np.log10([g for g, _ in found])
            phase_deg = np.degrees(np.unwrap([p for _, p in found]))
            linear = experiments.linear_frequency(vehicle, omega, fine)
            upper.semilogx(at, gain_dB, color=colour, label=f"ω_d {omega:g}")
            upper.semilogx(fine, 20 * np.log10(np.abs(linear)), color=colour, ls="--", lw=0.9)
            upper.plot(omega, np.interp(omega, at, gain_dB), "o", color=colour)
            lower.semilogx(at, phase_deg, color=colour)
            lower.semilogx(fine, np.degrees(np.unwrap(np.angle(linear))), color=colour, ls="--", lw=0.9)
        upper.axhline(-3.0, color=INK, lw=0.8, ls=":")
        upper.set_ylabel("gain [dB]")
        upper.legend()
        lower.set(xlabel="ω [rad/s]", ylabel="phase [°]")
        return png(figure)
