"""Recordings that a killed process left behind: finish them, or read them as far as they go.

By hand, because the official `mcap recover` is a Go program and rosbag2_py is not among the wheels.
"""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcap.records import Channel, McapRecord, Message, Metadata, Schema
from mcap.stream_reader import StreamReader
from mcap.writer import CompressionType, Writer

from shoal.config import atomic
from shoal.errors import ShoalError
from shoal.recordings.bag_metadata import METADATA, count_messages, mcap_files, write_metadata
from shoal.recordings.bag_writer import CHUNK_BYTES

END_MARK = b"\x89MCAP0\r\n"


@dataclass(frozen=True)
class Repaired:
    """What `repair` found."""

    messages: int
    dropped_bytes: int  # behind the last whole chunk
    was_whole: bool  # nothing to do


def is_whole(file: Path) -> bool:
    """Whether the writer got to the end."""
    with file.open("rb") as stream:
        if stream.seek(0, os.SEEK_END) < 2 * len(END_MARK):
            return False
        stream.seek(-len(END_MARK), os.SEEK_END)
        return stream.read() == END_MARK


def is_left_behind(folder: Path) -> bool:
    """A recording that was not finished and that nobody writes any more."""
    files = mcap_files(folder)
    unfinished = files and (not (folder / METADATA).is_file() or not all(map(is_whole, files)))
    return bool(unfinished) and not any(map(_in_use, files))


def repair(folder: Path) -> Repaired:
    """Finish a recording that was left behind; one that is complete is not touched."""
    files = mcap_files(folder) if folder.is_dir() else []
    if not files:
        raise ShoalError(f"{folder}: holds no .mcap file; expected a recording's folder")
    if any(map(_in_use, files)):
        raise ShoalError(f"{folder}: is being recorded; expected a recording that nobody writes")
    broken = [file for file in files if not is_whole(file)]
    dropped = sum(_rewrite(file, file) for file in broken)
    whole = not broken and (folder / METADATA).is_file()
    return Repaired(count_messages(files) if whole else write_metadata(folder), dropped, whole)


def recover(folder: Path, target: Path) -> Repaired:
    """The same into another folder, the original untouched: for reading what must not be written."""
    target.mkdir(parents=True, exist_ok=True)
    files = mcap_files(folder)
    dropped = sum(_rewrite(file, target / file.name) for file in files)
    return Repaired(write_metadata(target), dropped, False)


class _Copy:
    """Takes over records into a file of its own numbering."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._schemas: dict[int, int] = {}
        self._channels: dict[int, int] = {}

    def take(self, record: McapRecord) -> None:
        if isinstance(record, Schema) and record.id not in self._schemas:
            self._schemas[record.id] = self._writer.register_schema(record.name, record.encoding, record.data)
        elif isinstance(record, Channel) and record.id not in self._channels:
            schema = self._schemas.get(record.schema_id, 0)
            self._channels[record.id] = self._writer.register_channel(
                record.topic, record.message_encoding, schema, record.metadata
            )
        elif isinstance(record, Message) and record.channel_id in self._channels:
            channel = self._channels[record.channel_id]
            self._writer.add_message(channel, record.log_time, record.data, record.publish_time, record.sequence)
        elif isinstance(record, Metadata):
            self._writer.add_metadata(record.name, record.metadata)


def _rewrite(source: Path, target: Path) -> int:
    """Everything up to the last whole chunk into a finished file; the bytes that were lost."""
    read = 0
    with atomic.replacing(target) as scratch, source.open("rb") as stream, scratch.open("wb") as out:
        writer: Any = Writer(out, chunk_size=CHUNK_BYTES, compression=CompressionType.ZSTD)
        writer.start(profile="ros2", library="shoal")
        copy, records = _Copy(writer), iter(StreamReader(stream, validate_crcs=True).records)
        while True:
            try:
                record = next(records)
            except StopIteration:
                break
            except Exception:  # whatever a torn record makes the parser or the decompressor raise: here the file ends
                break
            read = stream.tell()
            copy.take(record)
        writer.finish()
        lost = stream.seek(0, os.SEEK_END) - read
    return lost


def _in_use(file: Path) -> bool:
    with file.open("rb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        return False
