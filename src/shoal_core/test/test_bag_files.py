"""Recordings: exact contents, metadata that readers accept, and files cut off anywhere that can still be mended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from mcap.reader import make_reader
from rosbags.highlevel import AnyReader

from shoal.errors import ShoalError
from shoal.recordings.bag_metadata import METADATA, read_notes
from shoal.recordings.bag_repair import is_left_behind, is_whole, recover, repair
from shoal.recordings.bag_writer import BagWriter
from shoal.recordings.codec_display import float_to_bytes

KIND = "std_msgs/msg/Float64"


def write(folder: Path, count: int, close: bool = True, flush_every: int = 50) -> BagWriter:
    writer = BagWriter(folder, {"fleet": "two"})
    for topic in ("/a", "/b"):
        writer.add_topic(topic, KIND)
    for i in range(count):
        writer.write("/a" if i % 3 else "/b", 10**9 + i * 10**6, 10**9 + i * 10**6, float_to_bytes(i))
        if i % flush_every == flush_every - 1:
            writer.flush()
    if close:
        writer.close()
    return writer


def values(folder: Path) -> list[tuple[int, str, float]]:
    with AnyReader([folder]) as reader:
        found = [(t, c.topic, float(reader.deserialize(raw, c.msgtype).data)) for c, t, raw in reader.messages()]
    return found


def expected(count: int) -> list[tuple[int, str, float]]:
    return [(10**9 + i * 10**6, "/a" if i % 3 else "/b", float(i)) for i in range(count)]


def test_both_readers_find_every_message_at_its_time(tmp_path: Path) -> None:
    write(tmp_path / "run", 500)
    assert values(tmp_path / "run") == expected(500)
    with (tmp_path / "run" / "run_0.mcap").open("rb") as stream:
        reader = make_reader(stream)
        assert [(m.log_time, c.topic) for _, c, m in reader.iter_messages()] == [e[:2] for e in expected(500)]
        summary = reader.get_summary()
        assert summary is not None and summary.statistics is not None and summary.statistics.message_count == 500
        assert summary.statistics.chunk_count == 10
    assert not is_left_behind(tmp_path / "run")
    with AnyReader([tmp_path / "run"]) as bag:
        assert {c.topic: c.msgcount for c in bag.connections} == {"/a": 333, "/b": 167}
    assert read_notes(tmp_path / "run") == {"fleet": "two"}


def test_an_empty_recording_is_a_recording(tmp_path: Path) -> None:
    BagWriter(tmp_path / "run").close()
    with AnyReader([tmp_path / "run"]) as reader:
        assert list(reader.messages()) == []


def test_unknown_types_and_folders_in_use_are_refused(tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / "run")
    with pytest.raises(ShoalError, match="unknown"):
        writer.add_topic("/x", "my_msgs/msg/Thing")
    with pytest.raises(FileExistsError):
        BagWriter(tmp_path / "run")
    assert not is_left_behind(tmp_path / "run")  # it is being written
    with pytest.raises(ShoalError, match="being recorded"):
        repair(tmp_path / "run")
    writer.close()
    writer.close()
    with pytest.raises(ShoalError, match=r"no \.mcap"):
        repair(tmp_path)


def torn(tmp_path: Path, keep: float) -> Path:
    """As a killed process leaves it: the file cut off somewhere, no metadata."""
    write(tmp_path / "run", 500)
    file = tmp_path / "run" / "run_0.mcap"
    os.truncate(file, int(file.stat().st_size * keep))
    (tmp_path / "run" / METADATA).unlink()
    return tmp_path / "run"


@pytest.mark.parametrize("keep", [0.05, 0.3, 0.31, 0.5, 0.77, 0.9, 0.99, 0.999])
def test_a_file_cut_off_anywhere_keeps_its_whole_chunks(tmp_path: Path, keep: float) -> None:
    folder = torn(tmp_path, keep)
    assert is_left_behind(folder)
    found = recover(folder, tmp_path / "copy")
    assert not is_whole(folder / "run_0.mcap") and not (folder / METADATA).exists()  # the original is as it was
    fixed = repair(folder)
    assert fixed.messages == found.messages and fixed.messages % 50 == 0  # chunks of 50
    assert fixed.messages >= 50 * int(keep * 500 / 50 * 0.75 - 1)
    assert values(folder) == values(tmp_path / "copy") == expected(fixed.messages)
    again = repair(folder)
    assert again.was_whole and again.messages == fixed.messages


def test_only_the_metadata_missing(tmp_path: Path) -> None:
    write(tmp_path / "run", 100)
    before = (tmp_path / "run" / "run_0.mcap").read_bytes()
    (tmp_path / "run" / METADATA).unlink()
    assert is_left_behind(tmp_path / "run") and repair(tmp_path / "run").messages == 100
    assert (tmp_path / "run" / "run_0.mcap").read_bytes() == before and values(tmp_path / "run") == expected(100)


def test_kill_9_loses_nothing_that_was_flushed(tmp_path: Path) -> None:
    script = (
        "import sys; sys.path[:0] = [sys.argv[2]]\n"
        "from pathlib import Path; from test_bag_files import write\n"
        "w = write(Path(sys.argv[1]), 275, close=False); w.flush(); print('flushed', flush=True); input()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "run"), str(Path(__file__).parent)],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # fmt: skip
    assert process.stdout is not None and process.stdout.readline().strip() == "flushed"
    assert not is_left_behind(tmp_path / "run")  # locked
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert is_left_behind(tmp_path / "run")
    fixed = repair(tmp_path / "run")
    assert (fixed.messages, fixed.dropped_bytes) == (275, 0) and values(tmp_path / "run") == expected(275)
    assert read_notes(tmp_path / "run") == {"fleet": "two"}
