"""A rosbag2 recording (MCAP + metadata.yaml) that grows, and that a killed process leaves in a state one can mend.

Messages go into small compressed chunks, flushed now and then: what was flushed survives `kill -9`. A file that nobody
finished lacks its index; `bag_repair` reads it up to the last whole chunk and writes it anew. A lock on the file, which
dies with its process, distinguishes one that is still being written from one that was left behind.
"""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import Any

from mcap.writer import CompressionType, Writer

from shoal.recordings.bag_metadata import NOTES, Notes, write_metadata
from shoal.recordings.typestore import definition

CHUNK_BYTES = 256 * 1024


class BagWriter:
    """One recording on its way. `log_ns` is the time of recording, `publish_ns` that of sending."""

    def __init__(self, folder: Path, notes: Notes | None = None) -> None:
        folder.mkdir(parents=True)
        self.folder, self.messages = folder, 0
        self.file = folder / f"{folder.name}_0.mcap"  # rosbag2's naming
        self._stream = self.file.open("xb")
        fcntl.flock(self._stream, fcntl.LOCK_EX)
        self._writer: Any = Writer(self._stream, chunk_size=CHUNK_BYTES, compression=CompressionType.ZSTD)
        self._writer.start(profile="ros2", library="shoal")
        self._writer.add_metadata(NOTES, dict(notes or {}))
        self._schemas: dict[str, int] = {}
        self._channels: dict[str, int] = {}
        self.flush()

    @property
    def topics(self) -> int:
        """How many."""
        return len(self._channels)

    def add_topic(self, topic: str, kind: str, qos_profiles: str = "") -> None:
        """`kind` as `std_msgs/msg/String`; `qos_profiles` the publishers' as YAML. Adding again does nothing."""
        if topic in self._channels:
            return
        text, digest = definition(kind)
        if kind not in self._schemas:
            self._schemas[kind] = self._writer.register_schema(kind, "ros2msg", text.encode())
        about = {"offered_qos_profiles": qos_profiles, "topic_type_hash": digest}
        self._channels[topic] = self._writer.register_channel(topic, "cdr", self._schemas[kind], about)

    def write(self, topic: str, log_ns: int, publish_ns: int, data: bytes) -> None:
        """A serialised message (CDR)."""
        self._writer.add_message(self._channels[topic], log_ns, data, publish_ns, self.messages & 0xFFFFFFFF)
        self.messages += 1

    def flush(self) -> None:
        """From here on what was written survives this process."""
        self._writer.flush()

    def close(self) -> None:
        """Index, metadata.yaml, unlock. A second time does nothing."""
        if not self._stream.closed:
            try:
                self._writer.finish()
                self._stream.flush()
                write_metadata(self.folder)
            finally:
                self._stream.close()
