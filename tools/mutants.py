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
MUTANTS = (
    # The eleven rules that could once be switched off unseen.
    Mutant("give_way", "control/nmpc/aim.c", "return a->turn_rad * turn;", "return 0.0 * turn;", (FLEET,)),
    Mutant(
        "not_committed", "fleet/agent.py", "committed = self._is_clear(plan, forecast)", "committed = True", (FLEET,)
    ),
    Mutant("forget", "fleet/agent.py", "t_s - plan.stamp_s < forget_s", "True", (FLEET,)),
    Mutant(
        "frozen", "simulation/faults.py", 'return self._is(name, t_s, "frozen")', "return False", ("test_world.py",)
    ),
    Mutant(
        "radio_silent",
        "simulation/faults.py",
        'return self._is(name, t_s, "radio_silent")',
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
        "hard_distance",
        "control/nmpc/nmpc.py",
        "[pen.distance_soft, pen.sight_soft, pen.distance_hard, pen.sight_hard]",
        "[pen.distance_soft, pen.sight_soft, 1.0, pen.sight_hard]",
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
        "approach_reach", "control/nmpc/nmpc.py", "far = squared > self._reach_m**2", "far = squared > np.inf", (NMPC,)
    ),
    Mutant(
        "sight_rows",
        "control/nmpc/nmpc.py",
        "p.sight[:] = others.seen",
        "p.sight[:] = 0.0",
        (NMPC,),
    ),
    # The same rules in the compiled form that swims; those above are its judges in numpy.
    Mutant(
        "approach_compiled", "control/nmpc/aim.c", "if (length2 > reach * reach && !a->on_ring)", "if (0)", (NMPC, AIM)
    ),
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
        "if problem := check_odometry(odometry, t_s, self.settings.gate):",
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
