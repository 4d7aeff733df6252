"""The report page in a real browser: dark, narrow, without errors; and what it says of a campaign that is not finished.

The browser part is skipped where no Chromium is installed.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from shoal.campaigns.rows import summary_row
from shoal.campaigns.series import series_table
from shoal.campaigns.store import Store
from shoal.evaluation.metrics import METRICS, summarise
from shoal.reports.report import write_report
from synthetic_runs import make_record

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
ASKED = 22


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """15 of 22 runs, of two conditions with long names."""
    store = Store(tmp_path_factory.mktemp("campaign"))
    store.create()
    keys = [f"{condition}{seed}" for condition in ("default", "slow") for seed in range(ASKED // 2)]
    cells = [f"follow_path · circle · {key.rstrip('0123456789')}" for key in keys]
    about = {"campaign": {"name": "a_campaign_with_quite_a_long_name_of_its_own", "description": "To look at."},
             "metrics": [m.info.model_dump(mode="json") for m in METRICS],
             "jobs": ASKED, "keys": keys, "cells": cells}  # fmt: skip
    store.write_json("campaign.json", about)
    for number, key in enumerate(keys[:15]):
        record = make_record(seed=number % 11, duration_s=40.0, noise_m=0.02)
        record = replace(record, about=replace(record.about, condition=key.rstrip("0123456789")))
        stamp = {"machine": "a processor", "finished_utc": "2026-11-18T01:02:03+00:00"}
        store.put(summary_row(summarise(record), key) | stamp, series_table(key, record, 0.5))
    return write_report(store.folder)[0]


def test_an_unfinished_campaign_says_so_and_names_the_cells(page: Path) -> None:
    for file in (page, page.with_name("summary.md")):
        text = file.read_text(encoding="utf-8")
        assert f"15 of {ASKED}" in text and f"Not finished: 15 of {ASKED} runs" in text
        assert re.search(r"circle · slow(: 7 missing| \(7\))", text) and "circle · default: " not in text


def test_percentiles_have_their_sample_counts(page: Path) -> None:
    text = page.with_name("summary.md").read_text(encoding="utf-8")
    assert "control steps measured" in text and "802 (802)" in text  # 401 instants of two vehicles
    assert "10 % to 90 % of ${cell.runs} runs" in page.read_text(encoding="utf-8")


def looked_at(page: Path, width: int, script: str, dark: bool = False) -> str:
    """What `script` returns on the page, by way of its title; headless Chromium prints the document at the end."""
    copy = page.with_name(f"look-{width}-{dark}.html")
    probe = f"""<script>window.errors = []; window.onerror = m => window.errors.push(String(m));
      const wait = setInterval(() => {{ if (document.body.dataset.ready !== "yes") return; clearInterval(wait);
        setTimeout(() => {{ document.title = "ANSWER" + JSON.stringify((() => {{ {script} }})()); }}, 300);
      }}, 50);</script>"""
    frame = page.with_name(f"frame-{width}-{dark}.html")
    text = page.read_text(encoding="utf-8")
    if dark:  # headless Chromium follows no desktop: the rules for dark are made to hold
        text = text.replace("@media (prefers-color-scheme: dark)", "@media all")
    copy.write_text(text.replace("<head>", f"<head>{probe}", 1), encoding="utf-8")
    # A window is never narrower than 500 px: a frame is.
    relay = "setInterval(() => { document.title = document.querySelector('iframe').contentDocument.title; }, 100);"
    inner = (
        f"<iframe src='{copy.name}' style='width:{width}px;height:2000px;border:0'></iframe><script>{relay}</script>"
    )
    frame.write_text(f"<!doctype html><title>-</title><body style='margin:0'>{inner}</body>", encoding="utf-8")
    done = subprocess.run(
        [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader",
         "--allow-file-access-from-files", f"--user-data-dir={page.parent / 'profile'}", "--virtual-time-budget=20000",
         f"--screenshot={page.with_name(f'look-{width}-{dark}.png')}", "--window-size=1000,2000",
         "--dump-dom", frame.as_uri()], capture_output=True, text=True, timeout=180,
    )  # fmt: skip
    found = re.search(r"<title>ANSWER(.*?)</title>", done.stdout)
    assert found, (done.stdout[-500:], done.stderr[-1500:])
    return found[1].replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")


@pytest.mark.skipif(not CHROMIUM, reason="no Chromium here")
class TestInABrowser:
    def test_nothing_scrolls_sideways_at_390_px_and_there_is_no_error(self, page: Path) -> None:
        script = """const wide = [...document.querySelectorAll("body *")].filter(
          e => !e.closest(".scroll, svg, .plotly")
          && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName + "." + e.className);
          return {width: innerWidth, scroll: document.documentElement.scrollWidth, wide: wide.slice(0, 5),
                  errors: window.errors, plots: document.querySelectorAll(".main-svg").length};"""
        seen = json.loads(looked_at(page, 390, script))
        assert seen["width"] == 390 and seen["scroll"] <= 390, seen
        assert not seen["wide"] and not seen["errors"] and seen["plots"] > 0, seen

    def test_dark_text_is_readable(self, page: Path) -> None:
        script = """const light = c => { const [r, g, b] = c.match(/\\d+/g).map(Number);
            return 0.299 * r + 0.587 * g + 0.114 * b; };
          const of = s => { const e = getComputedStyle(document.querySelector(s)); return light(e.color); };
          return {back: light(getComputedStyle(document.body).backgroundColor), text: of("body"), head: of("th"),
                  paper: light(getComputedStyle(document.querySelector("section")).backgroundColor), cell: of("td"),
                  axis: light(document.querySelector(".xtick text").style.fill)};"""
        seen = json.loads(looked_at(page, 900, script, dark=True))
        assert max(seen["back"], seen["paper"]) < 60 and min(seen[k] for k in ("text", "head", "cell", "axis")) > 140, (
            seen
        )
