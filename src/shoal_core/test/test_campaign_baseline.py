"""Campaigns whose runs have each another one beside them, the same but for what the baseline replaces."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from shoal.campaigns.compare import cells_above, compare
from shoal.campaigns.file import Campaign, baseline_keys, campaign_jobs, load_campaign
from shoal.campaigns.vary import varied_condition
from shoal.cli import app
from shoal.errors import ShoalError
from shoal.simulation.conditions import load_condition
from shoal.tasks.run import RunSpec, build_run
from test_campaign import ODD, in_this_process


class TestBaseline:
    """Every run beside the same seed with other settings."""

    CAMPAIGN = Campaign(
        name="small",
        paths=("circle",),
        runs=2,
        record="none",
        vary={"link.loss": (0.1, 0.2), "controller_model.mass_scale": (1.0, 1.5)},
        cells=({"path": "line", "changes": {"link.loss": 0.5}},),
        baseline={"controller_model.mass_scale": 1.2},
        **ODD,
    )

    def test_runs_that_differ_in_what_it_replaces_share_one(self) -> None:
        baselines, jobs = baseline_keys(self.CAMPAIGN), {j.key(): j for j in campaign_jobs(self.CAMPAIGN)}
        assert len(baselines) == 2 * 5 and len(set(baselines.values())) == 2 * 3
        assert jobs.keys() == {*baselines, *baselines.values()}
        for key, other in baselines.items():
            run, base = jobs[key], jobs[other]
            assert (run.spec.seed, run.spec.path) == (base.spec.seed, base.spec.path)
            assert base.condition.controller_model.mass_scale == 1.2 != run.condition.controller_model.mass_scale
            assert base.condition.link == run.condition.link
        assert baseline_keys(self.CAMPAIGN.model_copy(update={"baseline": {}})) == {}

    def test_margins_is_measured_against_agents_that_know(self) -> None:
        campaign = load_campaign("margins")
        assert campaign.runs >= 5
        one = campaign.model_copy(update={"runs": 1})
        baselines, jobs = baseline_keys(one), {j.key(): j for j in campaign_jobs(one)}
        assert len(baselines) == 744 and len(jobs) == 744 + 84
        for job in (jobs[key] for key in set(baselines.values())):
            model, sensors = job.condition.controller_model, job.condition.sensors
            assert model.thruster_lag is None and model.control_delay_periods is None
            assert sensors.stamp_offset_s == sensors.stamp_jitter_s == 0

    def test_the_command(self, tmp_path: Path) -> None:
        store = in_this_process(self.CAMPAIGN, tmp_path)
        baselines = baseline_keys(self.CAMPAIGN)
        store.write_json("campaign.json", {"baselines": baselines})
        runs = compare(tmp_path, "rmse_m")
        rows = {row["key"]: row for row in store.read_rows().to_pylist()}
        expected = sorted((rows[k]["rmse_m"] / rows[b]["rmse_m"] for k, b in baselines.items()), reverse=True)
        assert [run.ratio for run in runs] == pytest.approx(expected)
        most = expected[0] - 1e-6
        assert list(cells_above(runs, most)) and not cells_above(runs, expected[0])
        done = CliRunner().invoke(app, ["campaign", "compare", str(tmp_path), "--most", str(most)])
        assert done.exit_code == 1 and f"largest {expected[0]:.3f}" in done.output
        assert CliRunner().invoke(app, ["campaign", "compare", str(tmp_path), "--most", "1e9"]).exit_code == 0
        refused = CliRunner().invoke(app, ["campaign", "compare", str(tmp_path), "-m", "speed"])
        assert refused.exit_code != 0 and "--metric speed" in refused.output + refused.stderr
        store.write_json("campaign.json", {})
        with pytest.raises(ShoalError, match="no baselines"):
            compare(tmp_path, "rmse_m")


def test_a_controller_that_knows_its_lag() -> None:
    condition = varied_condition(load_condition("default"), {"controller_model.thruster_lag": None}, "test")
    run = build_run(RunSpec("circle", "2", condition, 3))
    for runtime, plant in zip(run.simulator.runtimes.values(), run.simulator.world.plant.vehicles, strict=True):
        known = [t.time_constant_s for t in runtime.agent.vehicle.thrusters]
        assert known == [t.time_constant_s for t in plant.vehicle.thrusters] != [0.15] * len(known)
