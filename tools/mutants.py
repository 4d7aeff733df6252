#!/usr/bin/env python3
"""Switch one rule off at a time, in a scratch copy of the core, and see a test fail.

A rule that can be switched off without a test noticing is not tested. Each entry names a file, the exact text that is
replaced, and the tests that must fail then. `make mutants`, or `tools/mutants.py give_way stop` for some by name.
Exits with 1 when a mutant survives, 2 when the list does not fit the code or a test fails without any mutant.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CORE = Path("src/shoal_core")
FAILED_TESTS, LONGEST_S = 1, 600  # pytest's exit code when tests ran and failed


@dataclass(frozen=True)
class Mutant:
    """`old` must occur exactly once in `file` (below src/shoal_core/shoal)."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]  # files below src/shoal_core/test, or file::test


FLEET, NMPC, AIM = "test_fleet_rules.py", "test_nmpc_rules.py", "test_aim.py"
VERDICTS = "test_vehicle_metrics.py"
MUTANTS = (
    Mutant(
        "magnets_from_contact_on",
        "platform/berth.py",
        "self.magnets = phase is Phase.SEARCH",
        "self.magnets = True",
        ("test_platform_berth.py::test_magnets_are_on_from_the_first_contact_on",),
    ),
    Mutant(
        "pull_against_a_platform_that_follows",
        "platform/berth.py",
        "follows = any(relative.short_m > SHORT_M for _, relative, _ in self._window)",
        "follows = False",
        ("test_platform_berth.py::test_a_pull_proves_a_latch_only_against_a_platform_that_does_not_come_after",),
    ),
    Mutant(
        "corners_close_faster_than_the_middle",
        "platform/berth.py",
        " + self._half_m * turning",
        "",
        ("test_platform_berth.py::test_near_the_hull_it_brakes_when_any_corner_closes_too_fast",),
    ),
    Mutant(
        "vessel_that_does_not_move",
        "platform/watch.py",
        "> self._moved_m:",
        "> -1.0:",
        ("test_platform_berth.py::test_a_vessel_that_does_not_move_though_it_is_asked_to_is_stuck",),
    ),
    Mutant(
        "wreck_in_the_way",
        "platform/wrecks.py",
        "return any(_off_m(wreck.position_m, inner, outer) < WAY_M for wreck in wrecks)",
        "return False",
        ("test_assemble_task.py::test_a_wreck_in_the_way_moves_the_platform_just_so_far_that_the_way_is_free",),
    ),
    Mutant(
        "cells_by_type",
        "platform/planner.py",
        "if types.get(n) == wanted.get(c) else UNFIT",
        "if True else UNFIT",
        ("test_platform_planner.py::test_a_cell_takes_vessels_of_its_type_only",),
    ),
    Mutant(
        "wind_below_the_surface",
        "simulation/wind.py",
        "if self and all(place is None for place in self._places_m):",
        "if False:",
        ("test_wind.py::test_nobody_below_the_surface_feels_wind",),
    ),
    Mutant(
        "env_too_close_ends",
        "envs/episode.py",
        "elif gap_m < limits.distance_hard_m:",
        "elif gap_m < 0.0:",
        ("test_envs.py::test_who_comes_too_close_or_gets_lost_is_done",),
    ),
    Mutant(
        "env_sees_what_is_measured",
        "envs/episode.py",
        "found[0:3] = to_body @ (position - own.position_m)",
        "found[0:3] = to_body @ (position - self.world.truth()[name].position_m)",
        ("test_envs.py::test_observations_are_measured_and_rewards_are_true",),
    ),
    Mutant(
        "cone_of_any_camera",
        "control/nmpc/nmpc.py",
        "for place, view in views.items():",
        "for place, view in {}.items():",
        ("test_dock_task.py::test_cone_of_any_camera_turns_the_vehicle",),
    ),
    Mutant(
        "plan_moved_to_where_it_is_seen",
        "docking/partner.py",
        "if self._off_m is None:\n            return plan",
        "if True:\n            return plan",
        ("test_dock_task.py::test_plan_is_moved_to_where_the_partner_is_seen",),
    ),
    Mutant(
        "partner_goes_home",
        "docking/pilot.py",
        "if name not in self.other.senders}",
        "if True}",
        ("test_dock_groups.py::test_a_partner_is_not_expected_back_at_its_place_in_the_formation",),
    ),
    Mutant(
        "dead_reckoned_difference",
        "docking/partner.py",
        "if t_s - self._seen_s > FRESH_S:",
        "if False:",
        ("test_dock_groups.py::test_out_of_sight_both_navigations_go_on_by_what_they_differ",),
    ),
    Mutant(
        "hidden_fiducial",
        "simulation/docks.py",
        "if float(np.linalg.norm(here - there)) < capsule.radius_m:",
        "if False:",
        ("test_dock_groups.py::test_a_third_vehicle_in_between_hides_the_fiducial",),
    ),
    Mutant(
        "wide_bearing_holds_the_approach",
        "docking/phases.py",
        "if seen.bearing_deg > s.cone_deg and",
        "if False and",
        ("test_docking_phases.py::test_wide_bearing_holds_the_approach",),
    ),
    Mutant(
        "adaptation_bounds",
        "estimation/model_adaptation.py",
        "self._found = [min(max(x, low), high) for x, (low, high) in zip(self._found, self._limits, strict=True)]",
        "pass",
        ("test_model_adaptation.py",),
    ),
    Mutant(
        "excitation_distance",
        "control/excitation.py",
        "if nearest_m < s.least_distance_m:",
        "if False:",
        ("test_excitation.py",),
    ),
    Mutant(
        "silent_pilot",
        "autopilot/pilot.py",
        "return self._last is not None and t_s - self._last.stamp_s <= self._timeout_s",
        "return self._last is not None",
        ("test_autopilot_levels.py::test_stop_and_loss_of_the_pilot_at_every_level",),
    ),
    Mutant(
        "change_of_level",
        "autopilot/autopilot.py",
        "self._fade_N = self._fade_N + continued_N - output.thrust_N\n            self._settled_s = t_s + SETTLE_S",
        "pass",
        ("test_pilot_dive.py::test_random_levels_are_judged_by_the_jump_of_thrust",),
    ),
    Mutant(
        "wrong_parameter",
        "ardusub/parameters.py",
        "elif value not in allowed:",
        "elif False:",
        ("test_ardusub.py",),
    ),
    Mutant(
        "take_over",
        "fleet/helm.py",
        "if t_s - self._heard_s < turn * self.take_over_s - 1e-9:",
        "if True:",
        ("test_join_task.py::test_of_two_that_fly_one_stands_down",),
    ),
    Mutant(
        "stand_down",
        "fleet/helm.py",
        "if self.pilot is not None and rank > known:",
        "if False:",
        ("test_join_task.py::test_of_two_that_fly_one_stands_down",),
    ),
    Mutant(
        "joint_breaks",
        "fleet/joint_watch.py",
        "self._normal, self._smooth = self._normal + moved, self._smooth + moved",
        "pass",
        ("test_join_task.py::test_a_joint_holds_whatever_navigation_does",),
    ),
    Mutant(
        "joined_waterplanes",
        "assembly/composite.py",
        "+ k * np.outer(p, p) + cross",
        "+ cross",
        ("test_composite.py",),
    ),
    Mutant(
        "estimate_handed_on",
        "fleet/agent.py",
        "self.estimator.go_on(known.odometry, known.wrench, known.current_mps)",
        "pass",
        ("test_join_task.py",),
    ),
    Mutant(
        "one_plan_for_a_group",
        "fleet/neighbour_table.py",
        "self._plans.pop(mate, None)",
        "pass",
        ("test_join_task.py",),
    ),
    Mutant(
        "joining_keeps_momentum",
        "simulation/world.py",
        "composite.joined(assembly.modules, states))",
        "composite.state_from(next(iter(composite.poses)), states[next(iter(composite.poses))]))",
        ("test_joining.py",),
    ),
    Mutant(
        "joined_move_as_one",
        "simulation/plant.py",
        "self._groups[indices] = group\n",
        "pass\n",
        ("test_joining.py",),
    ),
    Mutant(
        "one_held_fast_holds_all",
        "simulation/plant.py",
        "            if index in key:\n                name = list(",
        "            if False:\n                name = list(",
        ("test_joining.py",),
    ),
    Mutant(
        "ardusub_group_scaling",
        "ardusub/mixer.py",
        "found += share / max(1.0, float(np.abs(share).max()))",
        "found += share",
        ("test_ardusub.py",),
    ),
    Mutant(
        "ardusub_newton",
        "ardusub/axis_map.py",
        "if error < best_error:",
        "if False:",
        ("test_ardusub.py",),
    ),
    Mutant(
        "ardusub_voltage",
        "ardusub/axis_map.py",
        "self._curve: Curve = self._table.at(used)",
        "self._curve: Curve = self._table.at(16.0)",
        ("test_ardusub.py",),
    ),
    Mutant(
        "ardusub_wrong_commander",
        "ardusub/parameters.py",
        "if not first <= system_id <= last:",
        "if False:",
        ("test_ardusub.py",),
    ),
    Mutant(
        "odometry_interval",
        "fleet/odometry_watch.py",
        "self.age_limit_s = max(s.odometry_age_s, min(s.longest_age_s, waiting_s))",
        "self.age_limit_s = s.odometry_age_s",
        ("test_odometry_watch.py",),
    ),
    Mutant(
        "odometry_frozen",
        "fleet/agent.py",
        "if watch.is_frozen(odometry):",
        "if False:",
        ("test_odometry_watch.py",),
    ),
    Mutant(
        "wrench_of_slow_odometry",
        "estimation/ekf.py",
        "slowness = max(1.0, interval_s / QUICK_S)",
        "slowness = 1.0",
        ("test_odometry_watch.py",),
    ),
    Mutant(
        "odometry_absurd",
        "fleet/runtime.py",
        "if problem := check_contents(odometry):",
        "if problem := None:",
        ("test_odometry_watch.py",),
    ),
    Mutant(
        "outlier_gate",
        "estimation/kalman.c",
        "taken[block] = !(far && distance2(P, first, variance + first, r) > gate[4]);",
        "taken[block] = 1;",
        ("test_outliers.py",),
    ),
    Mutant(
        "map_correction",
        "estimation/outliers.py",
        "if count >= s.agreeing or",
        "if False or",
        ("test_outliers.py",),
    ),
    Mutant(
        "map_blending",
        "estimation/ekf.py",
        "self._behind_m = -by if self._behind_m is None else self._behind_m - by",
        "pass",
        ("test_outliers.py",),
    ),
    Mutant(
        "first_position_confirmed",
        "estimation/ekf.py",
        "if left_out and (self._to_confirm > 0 or self._count <= CONFIRMED):",
        "if False:",
        ("test_outliers.py",),
    ),
    # Actuators and the surface.
    Mutant(
        "azimuth_idle",
        "vehicles/functions.py",
        "turn = ca.if_else(target[i] == 0, 0, ",
        "turn = ca.if_else(target[i] == -1, 0, ",
        ("test_actuators.py",),
    ),
    Mutant(
        "surface_thrust",
        "vehicles/functions.py",
        "    if structure.surface:  # within 10 ms",
        "    if False:  # within 10 ms",
        ("test_surface.py",),
    ),
    # Thrust to inputs.
    Mutant("allocation_release", "vehicles/allocation.c", "if (release < 0) return", "return", ("test_allocation.py",)),
    Mutant(
        "allocation_lost_axes",
        "vehicles/allocation.py",
        "axis in controlled for axis in AXES], weights",
        "True for axis in AXES], weights",
        ("test_allocation.py",),
    ),
    Mutant(
        "seen_plans",
        "fleet/neighbour_table.py",
        "plan.shifted(0.0, relative.bias_m, margin_m)",
        "plan",
        ("test_relative_position.py",),
    ),
    Mutant("hazard", "fleet/neighbours.py", "if self._hazards:", "if False:", ("test_hazards.py",)),
    Mutant(
        "clock_skew",
        "fleet/plan_stream.py",
        "if clock.skew_s != 0.0:",
        "if False:",
        ("test_clocks.py",),
    ),
    Mutant(
        "restarted_clock",
        "fleet/plan_stream.py",
        "if not self._odd.confirmed(now_s):",
        "if True:",
        ("test_clocks.py",),
    ),
    Mutant(
        "reference_skew",
        "fleet/reference_tracker.py",
        "if self._clock.skew_s != 0.0:",
        "if False:",
        ("test_clocks.py",),
    ),
    Mutant("one_step_a_stage", "control/nmpc/formulation.py", "SUBSTEPS = 2 ", "SUBSTEPS = 1 ", ("test_stiffness.py",)),
    # Any vehicle.
    Mutant(
        "first_dependence", "control/nmpc/formulation.py", "return min(columns)", "return 3", ("test_kernel_shapes.py",)
    ),
    Mutant(
        "terminal_drift",
        "control/nmpc/terminal.py",
        "back.T - skewed @ stay.T",
        "back.T",
        ("test_fewer_axes.py",),
    ),
    Mutant(
        "keeps_depth", "fleet/agent.py", "if self._keeps_depth:  # an error", "if False:  #", ("test_fewer_axes.py",)
    ),
    Mutant("carried_over", "fleet/actuation.py", "known.get(name, 0.0)", "0.0", ("test_vehicle_exchange.py",)),
    Mutant(
        "scale", "vehicles/scale.py", "return 1.0 if name is None else", "return 1.0 if True else", ("test_scale.py",)
    ),
    Mutant("given_settings", "vehicles/scale.py", " and value == field.default", "", ("test_scale.py",)),
    # What fails a run.
    Mutant(
        "own_places",
        "evaluation/path_error.py",
        "OWN_BOUND_M = 1.0",
        "OWN_BOUND_M = 1e9",
        ("test_metrics.py", "test_vehicle_metrics.py"),
    ),
    Mutant(
        "tumbling",
        "evaluation/attitude.py",
        "TUMBLE_DEG = 60.0",
        "TUMBLE_DEG = 180.0",
        ("test_metrics.py", "test_vehicle_metrics.py"),
    ),
    Mutant(
        "worst_vehicle",
        "evaluation/effort.py",
        "max(known, key",
        "min(known, key",
        ("test_metrics.py", "test_vehicle_metrics.py"),
    ),
    # Margins of the loop.
    Mutant(
        "moment_lead", "fleet/overdrive.py", "moment = min(moment, force)", "moment = force", ("test_overdrive.py",)
    ),
    Mutant("let_go", "fleet/let_go.py", "if not self.settings.enabled:", "if True:", ("test_let_go.py",)),
    Mutant("oscillation", "fleet/oscillation.py", "if probed or not s.enabled:", "if True:", ("test_oscillation.py",)),
    Mutant(
        "stiffness",
        "vehicles/stiffness.py",
        ">= 1.0:\n        return vehicle",
        ">= 0.0:\n        return vehicle",
        ("test_stiffness.py",),
    ),
    # The eleven rules that could once be switched off unseen.
    Mutant("give_way", "control/nmpc/aim.c", "return a->turn_rad * turn;", "return 0.0 * turn;", (FLEET,)),
    Mutant(
        "swims_along",
        "control/nmpc/aim.c",
        "n = last[0] - p[0], e = last[1] - p[1];",
        "n = 0 * last[0], e = 0;",
        ("test_fast_paths.py::test_straights_are_followed_to_five_centimetres",),
    ),
    Mutant(
        "keeps_up",
        "control/nmpc/aim.c",
        "if (m == 0) memcpy(behind",
        "memcpy(behind",
        ("test_fast_paths.py::test_straights_are_followed_to_five_centimetres",),
    ),
    Mutant(
        "path_slowed",
        "guidance/pace.py",
        "return SlowedPath(path, own_s, np.sqrt(squares), share)",
        "return path",
        ("test_pace.py::test_a_path_at_three_metres_a_second_is_slowed_and_followed",),
    ),
    Mutant(
        "reference_waits",
        "guidance/pace.py",
        "self._set(t_s, min(max(share, 0.0), 1.0), lag)",
        "pass",
        ("test_pace.py::test_the_reference_waits_in_a_current_too_strong_for_it",),
    ),
    Mutant("hulls_are_points", "fleet/hull_gaps.py", "if hulls.compact:", "if True:", ("test_hull_distances.py",)),
    Mutant(
        "verdict_between_centres",
        "messages/geometry.py",
        "if len(hulls_m) and (hulls_m[a].any() or hulls_m[b].any()):",
        "if False:",
        ("test_hull_distances.py",),
    ),
    Mutant(
        "missing_wrench_does_not_jump",
        "estimation/missing_acceleration.py",
        "self.value = self.value + (before - after) @ self.felt_N",
        "pass",
        ("test_thruster_faults.py::test_what_is_missing_changes_at_once_when_a_thruster_is_taken_out",),
    ),
    Mutant(
        "one_test_is_trusted",
        "estimation/thruster_faults.py",
        "max(got.sigma, ONE_TEST if len(self._flown) == 1 else 0.0)",
        "got.sigma",
        ("test_thruster_faults.py::test_a_single_test_is_not_trusted_beyond_what_bends_it",),
    ),
    Mutant(
        "lags_averaged",
        "fleet/overdrive.py",
        "if self._ratios is not None:",
        "if False:",
        ("test_lag_of_each_thruster.py",),
    ),
    Mutant("not_committed", "fleet/agent.py", "keeps_clear(plan, forecast, self._hard_m)", "True", (FLEET,)),
    Mutant("forget", "fleet/neighbours.py", "t_s - plan.stamp_s < settings.forget_s", "True", (FLEET,)),
    Mutant(
        "frozen", "simulation/faults.py", 'return self._is(name, t_s, "frozen")', "return False", ("test_world.py",)
    ),
    Mutant(
        "radio_silent",
        "simulation/faults.py",
        'return self._is(name, t_s, "radio_silent", "reboot")',
        "return False",
        ("test_simulator.py",),
    ),
    Mutant(
        "control_delay",
        "simulation/world.py",
        "self.command_delay_s = condition.control_delay_periods * control_period_s",
        "self.command_delay_s = 0.0",
        ("test_world.py",),
    ),
    Mutant(
        "actuation_delay",
        "fleet/agent.py",
        "        act_s = t_s + self._actuation.timing.delay_s\n",
        "        act_s = t_s\n",
        (FLEET,),
    ),
    Mutant(
        "stamps_ahead",
        "estimation/odometry_stamps.py",
        "return ahead_s if self._tick_s < ahead_s < math.inf else 0.0",
        "return 0.0",
        ("test_odometry_stamps.py",),
    ),
    Mutant(
        "uneven_stamps",
        "estimation/odometry_stamps.py",
        "return self._count >= UNEVEN_LEAST and self._uneven_share > UNEVEN_SHARE",
        "return False",
        ("test_odometry_stamps.py",),
    ),
    Mutant(
        "stamps_too_old",
        "fleet/actuation.py",
        "self.stamp_offset_s = -age_s",
        "self.stamp_offset_s = 0.0",
        ("test_odometry_stamps.py",),
    ),
    Mutant(
        "timing_probe",
        "estimation/timing_bank.py",
        "return self._probe_N if forth else -self._probe_N",
        "return 0.0 * self._probe_N",
        ("test_timing_bank.py",),
    ),
    Mutant(
        "hard_distance",
        "control/nmpc/nmpc.py",
        'getattr(pen, f"{price}_{k}")',
        '(1.0 if (price, k) == ("distance", "hard") else getattr(pen, f"{price}_{k}"))',
        (f"{NMPC}::test_pushed_together_they_give_up_the_soft_distance_and_keep_the_hard_one",),
    ),
    Mutant(
        "terminal_cost",
        "control/nmpc/nmpc.py",
        'p.block("terminal")[:] = terminal.ravel()',
        'p.block("terminal")[:] = 0.0',
        (NMPC,),
    ),
    Mutant(
        "proximal_weight",
        "control/nmpc/nmpc.py",
        "np.array([w.thrust, w.proximal, w.thrust_rate])",
        "np.array([w.thrust, 0.0, w.thrust_rate])",
        (NMPC,),
    ),
    Mutant(
        "approach_reach",
        "control/nmpc/nmpc.py",
        "far = distance > self._reach_m",
        "far = self._reach_m > np.inf",
        (NMPC,),
    ),
    Mutant(
        "sight_rows",
        "control/nmpc/nmpc.py",
        "p.sight[:] = others.seen",
        "p.sight[:] = 0.0",
        (NMPC,),
    ),
    # The same rules in the compiled form that swims; those above are its judges in numpy.
    Mutant("approach_compiled", "control/nmpc/aim.c", "if (over > 0)", "if (0)", (NMPC, AIM)),
    Mutant(
        "heading_compiled", "control/nmpc/aim.c", "const double look = seen ?", "const double look = 0 ?", (NMPC, AIM)
    ),
    Mutant("sight_compiled", "control/nmpc/aim.c", "used && must_see[best[j]]", "0", (NMPC, AIM)),
    # STOP
    Mutant(
        "stop", "fleet/runtime.py", "        if self.stop.stopped:\n", "        if False:\n", ("test_runtime_stop.py",)
    ),
    Mutant(
        "release_counter",
        "fleet/stop.py",
        "if not self.state.stopped or counter != self.state.counter:",
        "if not self.state.stopped:",
        ("test_stop.py",),
    ),
    Mutant(
        "stop_beats_release",
        "fleet/stop.py",
        "(state.counter, state.stopped, state.owner)",
        "(state.counter, not state.stopped, state.owner)",
        ("test_stop.py",),
    ),
    Mutant(
        "unreadable_stop_file",
        "fleet/stop.py",
        'self.state = StopState(1, True, f"unreadable {file.name}")',
        "pass",
        ("test_stop.py",),
    ),
    # What is not to be trusted
    Mutant(
        "odometry_gate",
        "fleet/agent.py",
        "if problem := check_odometry(odometry, t_s, gate, watch.age_limit_s):",
        "if problem := None:",
        ("test_agent.py",),
    ),
    Mutant(
        "odometry_from_the_future",
        "fleet/runtime.py",
        "if ahead_s > self.settings.agent.gate.future_s:",
        "if False:",
        ("test_runtime.py",),
    ),
    Mutant(
        "stale_reference",
        "fleet/reference_tracker.py",
        "if age_s > self._timeout_s or age_s < -AHEAD_S:",
        "if False:",
        ("test_runtime.py",),
    ),
    Mutant(
        "deadline",
        "fleet/agent.py",
        "compute_s > self.settings.gate.deadline_periods * self.timing.period_s:",
        "False:",
        ("test_runtime.py",),
    ),
    Mutant("lost_plans", "fleet/link.py", "if lost < chosen.loss or (", "if (", ("test_link.py",)),
    Mutant(
        "lost_references",
        "simulation/reference_link.py",
        "            if not gone:\n",
        "            if True:\n",
        ("test_simulator.py",),
    ),
    Mutant(
        "command_timeout",
        "simulation/command_queue.py",
        "        if self.silent(t_s):\n",
        "        if False:\n",
        ("test_world.py",),
    ),
    Mutant(
        "price_projection",
        "docking/dual_decomposition.py",
        "np.maximum(price, 0.0) if coupling.inequality else price",
        "price",
        ("test_dual_decomposition.py",),
    ),
    Mutant(
        "price_never_falls",
        "docking/dual_decomposition.py",
        "coupling.step * coupling.value(found)",
        "coupling.step * np.maximum(coupling.value(found), -1e9 if not coupling.inequality else 0.0)",
        ("test_dual_decomposition.py",),
    ),
    Mutant(
        "relative_pose_gate",
        "estimation/relative_pose.py",
        "if residual @ np.linalg.solve(scatter, residual) > GATE:",
        "if False:",
        ("test_relative_pose.py",),
    ),
    Mutant(
        "relative_pose_late",
        "estimation/relative_pose.py",
        "at = self._moved(base, sighting.stamp_s, base.own_twist, base.other_twist)",
        "base, later = self._history[-1], []; sooner = self._history; at = base",
        ("test_relative_pose.py",),
    ),
    Mutant(
        "fiducial_has_a_front",
        "simulation/camera.py",
        "if -(relative @ self._normal) @ ray < range_m * math.cos(math.radians(self.fiducial.widest_deg)):",
        "if False:",
        ("test_relative_pose.py",),
    ),
    Mutant(
        "contact_never_pulls",
        "simulation/contact.py",
        "max(0.0, 1 + fender.damping_spm * closing)",
        "(1 + fender.damping_spm * closing)",
        ("test_contact.py",),
    ),
    Mutant(
        "latch_not_at_a_hard_hit",
        "simulation/contact.py",
        "return self.armed and gentle and caught(",
        "return self.armed and caught(",
        ("test_contact.py",),
    ),
    Mutant(
        "unlatched_stays_open",
        "simulation/contact.py",
        "return self.armed and gentle and caught(",
        "return gentle and caught(",
        ("test_contact.py",),
    ),
    Mutant(
        "docking_funnel",
        "docking/phases.py",
        "elif seen.lateral_m <= self.funnel_m(seen.gap_m) and seen.angle_deg <= s.align_deg:",
        "else:",
        ("test_docking_phases.py",),
    ),
    Mutant(
        "tag_leans_either_way",
        "vision/detector.py",
        "covariance[3:, 3:] += np.outer(apart, apart) / 4",
        "pass",
        ("test_vision.py::test_a_second_pose_that_fits_as_well_is_in_the_covariance",),
    ),
    Mutant(
        "docking_without_camera",
        "docking/phases.py",
        "if self.phase is Phase.CLOSE and seen.camera_age_s > s.camera_s:",
        "if False:",
        ("test_docking_phases.py",),
    ),
)


def copied(scratch: Path) -> Path:
    """A tree of its own: core, tests, and the files they read."""
    for part in (CORE / "shoal", CORE / "test", Path("config")):
        shutil.copytree(ROOT / part, scratch / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", scratch)
    return scratch


def mutate(tree: Path, mutant: Mutant) -> str | None:
    """Replace the text; a sentence when the list does not fit the code."""
    file = tree / CORE / "shoal" / mutant.file
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    if text.count(mutant.old) != 1:
        return f"{mutant.name}: {mutant.file} has {text.count(mutant.old)} of {mutant.old!r}; expected exactly one"
    file.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    return None


def run_tests(tree: Path, tests: tuple[str, ...]) -> tuple[int, str]:
    """pytest's exit code and its last lines; the copy is imported, not what is installed."""
    environment = os.environ | {"PYTHONPATH": str(tree / CORE), "PYTHONDONTWRITEBYTECODE": "1"}
    files = [str(tree / CORE / "test" / name) for name in tests]
    options = ["-q", "-x", "-m", "not slow and not ros", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=no"]
    command = [sys.executable, "-m", "pytest", *options, *files]
    try:
        done = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, text=True, timeout=LONGEST_S, check=False
        )
    except subprocess.TimeoutExpired:
        return FAILED_TESTS, f"did not end within {LONGEST_S} s"  # hanging is noticed, too
    return done.returncode, (done.stdout + done.stderr).strip()


def without_mutant(names: tuple[str, ...]) -> str | None:
    """The tests must pass as they are, or their failing says nothing."""
    with tempfile.TemporaryDirectory(prefix="shoal-mutants-") as scratch:
        code, output = run_tests(copied(Path(scratch)), names)
    return None if code == 0 else f"tests fail without any mutant (pytest exit code {code}):\n{output[-2000:]}"


def trial(mutant: Mutant) -> tuple[Mutant, str, str]:
    """The mutant, killed, survived or broken, and by what."""
    with tempfile.TemporaryDirectory(prefix="shoal-mutants-") as scratch:
        tree = copied(Path(scratch))
        if problem := mutate(tree, mutant):
            return mutant, "broken", problem
        code, output = run_tests(tree, mutant.tests)
    if code == 0:
        return mutant, "survived", ", ".join(mutant.tests)
    if code != FAILED_TESTS:
        return mutant, "broken", f"{mutant.name}: pytest exit code {code}:\n{output[-2000:]}"
    failed = [line.split("::")[-1].split(" - ")[0] for line in output.splitlines() if line.startswith("FAILED")]
    return mutant, "killed", ", ".join(failed) or output[-100:]


def main() -> int:
    """Run all, or those named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="some of: " + ", ".join(m.name for m in MUTANTS))
    parser.add_argument("--jobs", type=int, default=max(1, min(4, os.cpu_count() or 1)))
    given = parser.parse_args()
    if unknown := set(given.names) - {m.name for m in MUTANTS}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; expected some of {', '.join(m.name for m in MUTANTS)}")
    chosen = [m for m in MUTANTS if not given.names or m.name in given.names]
    tests = tuple(dict.fromkeys(test for mutant in chosen for test in mutant.tests))
    print(f"mutants: {len(chosen)} rules, first the tests as they are: {', '.join(tests)}", flush=True)
    if problem := without_mutant(tests):
        print(f"mutants: {problem}")
        return 2
    counts = {"killed": 0, "survived": 0, "broken": 0}
    with ThreadPoolExecutor(given.jobs) as pool:
        for mutant, verdict, by in pool.map(trial, chosen):
            counts[verdict] += 1
            print(f"  {verdict:9s} {mutant.name:26s} {by}", flush=True)
    print(f"mutants: {counts['killed']} of {len(chosen)} killed")
    return 2 if counts["broken"] else 1 if counts["survived"] else 0


if __name__ == "__main__":
    sys.exit(main())
