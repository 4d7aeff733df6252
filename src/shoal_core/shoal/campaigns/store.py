"""A campaign's directory. A run is done when its row file has its final name; everything else may be half-written.

rows/<key>.parquet     one finished run (the commit mark; written last)
series/<key>.parquet   its decimated time series
recordings/<key>/      a full run directory, for the runs that keep one
runs.parquet           the data set, compacted from rows/, sorted, without machine-dependent columns
timing.parquet         solve and wall times by key
series.parquet         all series, sorted
campaign.json          what was asked for, by which code, and what is known of each metric
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from shoal.campaigns.rows import Row, data_columns, one_table, row_table
from shoal.campaigns.series import SERIES_SCHEMA
from shoal.config import atomic
from shoal.errors import ShoalError
from shoal.evaluation.metric import MetricInfo
from shoal.evaluation.metrics import METRICS


class Store:
    """Reading and writing one campaign directory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows, self.series, self.recordings = (folder / name for name in ("rows", "series", "recordings"))

    def create(self) -> None:
        """Make the folders; refuse a directory that holds something else."""
        atomic.check_directory(self.folder, self.rows.name, "campaign directory")
        for folder in (self.rows, self.series):
            folder.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Only one campaign process at a time; the lock dies with its process, however it dies."""
        with (self.folder / ".lock").open("w") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise ShoalError(
                    f"{self.folder}: another campaign is running there; expected a free directory"
                ) from None
            self._sweep()
            yield

    def has(self, key: str) -> bool:
        """Is that run done?"""
        return self._row(key).is_file()

    def done(self) -> set[str]:
        """Keys of all finished runs."""
        return {file.stem for file in self.rows.glob("[!.]*.parquet")}

    def put(self, row: Row, series: Any | None) -> None:
        """Commit one run: its series first, its row last."""
        if series is not None:
            _write(series, self.series / f"{row['key']}.parquet")
        _write(row_table(row, self.metrics()), self._row(row["key"]))

    def forget(self, keys: Iterable[str]) -> None:
        """Drop rows, so that their runs are made again."""
        for key in keys:
            self._row(key).unlink(missing_ok=True)

    def read_rows(self) -> Any:
        """All finished runs that were last asked for, sorted, with every column.

        A row made from an older fleet file or condition stays on the disk, but out of the data set.
        """
        wanted = self.about().get("keys")
        keys = sorted(self.done() if wanted is None else self.done() & set(wanted))
        return one_table([_read(self._row(key)) for key in keys], self.metrics())

    def read_series(self, keys: Iterable[str]) -> dict[str, Any]:
        """The decimated series of those runs that left one, as pandas frames."""
        files = {key: self.series / f"{key}.parquet" for key in keys}
        return {key: _read(file).to_pandas() for key, file in files.items() if file.is_file()}

    def compact(self) -> Any:
        """Write the data set; gives all rows back. Doing it again changes nothing."""
        rows = self.read_rows()
        data, timing = data_columns(rows, self.metrics())
        _write(rows.select(data), self.folder / "runs.parquet")
        _write(rows.select(timing), self.folder / "timing.parquet")
        files = [self.series / f"{key}.parquet" for key in rows["key"].to_pylist()]
        tables = [_read(file) for file in files if file.is_file()]
        _write(pa.concat_tables(tables) if tables else SERIES_SCHEMA.empty_table(), self.folder / "series.parquet")
        return rows

    def about(self) -> dict[str, Any]:
        """What was asked for; empty before the first campaign."""
        file = self.folder / "campaign.json"
        return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}

    def metrics(self) -> list[MetricInfo]:
        """Those of the campaign, in order; of every run if it does not say."""
        given = self.about().get("metrics")
        return [m.info for m in METRICS] if given is None else [MetricInfo.model_validate(m) for m in given]

    def write_json(self, name: str, data: object) -> None:
        """A small file, replaced in one step."""
        atomic.write_json(self.folder / name, data, sort_keys=True)

    def _row(self, key: str) -> Path:
        return self.rows / f"{key}.parquet"

    def _sweep(self) -> None:
        """Remove what a killed process left half-written."""
        for folder in (self.folder, self.rows, self.series):
            for file in folder.glob(f"{atomic.SCRATCH}*"):
                file.unlink(missing_ok=True)


def _read(file: Path) -> Any:
    """Plainly: a campaign has thousands of these, and pyarrow's data sets cost ten times as much to open."""
    with pq.ParquetFile(file) as handle:
        return handle.read()


def _write(table: Any, file: Path) -> None:
    """Under another name, to the disk, then renamed."""
    with atomic.replacing(file) as scratch:
        pq.write_table(table, scratch, compression="zstd")
