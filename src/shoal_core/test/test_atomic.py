"""Files and directories that appear complete or not at all, and never in the place of something else."""

from __future__ import annotations

import json
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shoal.cli import app
from shoal.config import atomic
from shoal.errors import ShoalError
from shoal.evaluation.metrics import summarise
from shoal.evaluation.run_directory import refuse_foreign, write_run
from synthetic_runs import make_record

NULL = Path("/dev/null")
RECORD = make_record(duration_s=2.0)


@pytest.fixture(params=["fifo", "socket", "device", "link to a device", "link to a FIFO", "link to a link", "file"])
def special(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Something that a run directory must not replace. Devices only by a link: the machine needs its own."""
    path = tmp_path / "there"
    opened = socket.socket(socket.AF_UNIX)
    if request.param == "fifo":
        os.mkfifo(path)
    elif request.param == "socket":
        opened.bind(str(path))
    elif request.param == "device":
        try:
            os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3))
        except OSError:
            pytest.skip("needs the right to make device nodes")
    elif request.param == "link to a device":
        path.symlink_to(NULL)
    elif request.param == "link to a FIFO":
        os.mkfifo(tmp_path / "fifo")
        path.symlink_to(tmp_path / "fifo")
    elif request.param == "link to a link":
        (tmp_path / "link").symlink_to(NULL)
        path.symlink_to(tmp_path / "link")
    else:
        path.write_text("precious")
    yield path
    opened.close()


def nature(path: Path) -> tuple[int, int, int, int]:
    """What it is and where it leads; equal as long as nobody replaced it."""
    own, end = path.lstat(), path.stat()
    return own.st_mode, own.st_ino, end.st_mode, end.st_ino


@pytest.fixture
def no_renaming(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that is broken must fail the test, not the machine."""

    def refuse(*_: object) -> None:
        raise AssertionError("renamed something")

    monkeypatch.setattr("os.replace", refuse)


@pytest.mark.usefixtures("no_renaming")
class TestWhatIsNoDirectoryOfOurs:
    def test_a_run_is_not_written_there(self, special: Path) -> None:
        before, beside = nature(special), sorted(special.parent.iterdir())
        for act in (refuse_foreign, lambda path: write_run(RECORD, summarise(RECORD), path, recording=False)):
            with pytest.raises(
                ShoalError, match=r"^--out .*: is a .*; expected a new, empty or earlier run directory$"
            ):
                act(special)
        assert nature(special) == before and sorted(special.parent.iterdir()) == beside

    def test_the_null_device_itself(self) -> None:
        before = nature(NULL)
        for act in (refuse_foreign, lambda path: write_run(RECORD, summarise(RECORD), path, recording=False)):
            with pytest.raises(ShoalError, match=r"^--out /dev/null: is a device; expected"):
                act(NULL)
            with pytest.raises(ShoalError, match=r"^--out /dev/null/run: /dev/null is a device; expected a place"):
                act(NULL / "run")
        with pytest.raises(ShoalError, match=r"^/dev/null: is a device; expected a file"):
            atomic.write_text(NULL, "")
        assert nature(NULL) == before and stat.S_ISCHR(NULL.stat().st_mode)

    def test_command_line(self, special: Path) -> None:
        before = nature(special)
        done = CliRunner().invoke(app, ["simulate", "--duration", "1", "--out", str(special)])
        assert done.exit_code == 2 and done.output.count("expected") == 1 and "Traceback" not in done.output
        assert nature(special) == before

    def test_a_campaign_is_not_started_there(self, special: Path) -> None:
        from shoal.campaigns.store import Store

        before = nature(special)
        with pytest.raises(ShoalError, match=r"is a .*; expected a new, empty or earlier campaign directory"):
            Store(special).create()
        assert nature(special) == before

    def test_a_file_is_not_written_there(self, special: Path) -> None:
        if special.is_file():
            pytest.skip("a file may be replaced by a file")
        before = nature(special)
        with pytest.raises(ShoalError, match=r"is a .*; expected a file to write, or a new name"):
            atomic.write_text(special, "new")
        assert nature(special) == before


def test_a_directory_with_other_files_is_kept(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "paper.tex").write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / "home")
    for name in ("home", "link"):
        with pytest.raises(ShoalError, match="holds other files"):
            atomic.check_directory(tmp_path / name, "summary.json")
    with pytest.raises(ShoalError, match="is a directory; expected a file"):
        atomic.write_text(tmp_path / "home", "new")
    assert (tmp_path / "home" / "paper.tex").read_text() == "precious"


def fill(folder: Path, text: str) -> None:
    with atomic.replacing_directory(folder, "mark") as scratch:
        assert scratch.parent == folder.resolve().parent
        (scratch / "mark").write_text(text)


def test_new_empty_and_earlier_directories_are_taken(tmp_path: Path) -> None:
    fill(tmp_path / "deep" / "new", "1")
    (tmp_path / "empty").mkdir()
    fill(tmp_path / "empty", "2")
    fill(tmp_path / "deep" / "new", "3")
    (tmp_path / "link").symlink_to(tmp_path / "deep" / "new")
    fill(tmp_path / "link", "4")
    assert (tmp_path / "link").is_symlink()
    assert [(tmp_path / name / "mark").read_text() for name in ("deep/new", "empty")] == ["4", "2"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["deep", "empty", "link"]
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["new"]


def test_an_exception_leaves_everything_as_it_was(tmp_path: Path) -> None:
    fill(tmp_path / "run", "first")
    for folder in ("run", "other"):
        with pytest.raises(ZeroDivisionError), atomic.replacing_directory(tmp_path / folder, "mark") as scratch:
            (scratch / "mark").write_text("second")
            raise ZeroDivisionError
    with pytest.raises(ZeroDivisionError), atomic.replacing(tmp_path / "file.txt") as scratch:
        scratch.write_text("half")
        raise ZeroDivisionError
    assert (tmp_path / "run" / "mark").read_text() == "first"
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_a_rename_that_fails_brings_the_old_one_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path / "run", "first")
    real, calls = os.replace, []

    def second_fails(source: Path, target: Path) -> None:
        calls.append(target)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr("os.replace", second_fails)
    with pytest.raises(ShoalError, match=r"cannot be written \(No space left on device\)"):
        fill(tmp_path / "run", "second")
    assert (tmp_path / "run" / "mark").read_text() == "first"
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_something_put_there_meanwhile_is_kept(tmp_path: Path) -> None:
    with (
        pytest.raises(ShoalError, match="is a FIFO"),
        atomic.replacing_directory(tmp_path / "run", "mark") as scratch,
    ):
        (scratch / "mark").write_text("")
        os.mkfifo(tmp_path / "run")
    assert stat.S_ISFIFO((tmp_path / "run").stat().st_mode)


def test_files_in_one_step(tmp_path: Path) -> None:
    file = tmp_path / "data.json"
    atomic.write_json(file, {"b": 1, "a": [2.5, None]})
    assert json.loads(file.read_text()) == {"b": 1, "a": [2.5, None]} and file.read_text().endswith("}\n")
    (tmp_path / "link.json").symlink_to(file)
    atomic.write_json(tmp_path / "link.json", {"b": 1, "a": 2}, sort_keys=True)
    assert (tmp_path / "link.json").is_symlink() and list(json.loads(file.read_text())) == ["a", "b"]
    atomic.write_bytes(file, b"\0\1")
    atomic.write_text(tmp_path / "text", "Ærlig")
    assert (file.read_bytes(), (tmp_path / "text").read_text(encoding="utf-8")) == (b"\0\1", "Ærlig")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data.json", "link.json", "text"]
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(file.stat().st_mode) == 0o666 & ~umask  # as any other file
