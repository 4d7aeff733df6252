"""metadata.yaml of a rosbag2 recording, made from its MCAP files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from mcap.reader import make_reader

from shoal.config import atomic
from shoal.errors import ShoalError

METADATA = "metadata.yaml"
NOTES = "shoal"  # name of the MCAP record that keeps custom data
Notes = Mapping[str, str]


def mcap_files(folder: Path) -> list[Path]:
    """In order; without those that somebody is just writing under another name."""
    return sorted(file for file in folder.glob("*.mcap") if not file.name.startswith("."))


def write_metadata(folder: Path) -> int:
    """Write metadata.yaml from the contents of the files, in one step; the number of messages."""
    files = [_file_facts(file) for file in mcap_files(folder)]
    counts: dict[str, dict[str, Any]] = {}
    for _, topics, _ in files:
        for name, entry in topics.items():
            have = counts.setdefault(name, {**entry, "message_count": 0})
            have["message_count"] += entry["message_count"]
    about = [facts for facts, _, _ in files]
    filled = [f for f in about if f["message_count"]] or about
    first = min(f["starting_time"]["nanoseconds_since_epoch"] for f in filled)
    last = max(f["starting_time"]["nanoseconds_since_epoch"] + f["duration"]["nanoseconds"] for f in filled)
    total = sum(f["message_count"] for f in about)
    information = {
        "version": 9,
        "storage_identifier": "mcap",
        "relative_file_paths": [f["path"] for f in about],
        "duration": {"nanoseconds": last - first},
        "starting_time": {"nanoseconds_since_epoch": first},
        "message_count": total,
        "topics_with_message_count": list(counts.values()),
        "compression_format": "",
        "compression_mode": "",
        "files": about,
        "custom_data": {key: value for _, _, notes in files for key, value in notes.items()} or None,
        "ros_distro": os.environ.get("ROS_DISTRO", "jazzy"),
    }
    text = yaml.safe_dump({"rosbag2_bagfile_information": information}, sort_keys=False)
    atomic.write_text(folder / METADATA, text)
    return total


def _file_facts(file: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]], dict[str, str]]:
    """The entry of a file in metadata.yaml, its topics, and our notes in it."""
    with file.open("rb") as stream:
        reader = make_reader(stream)
        summary = reader.get_summary()
        if summary is None or summary.statistics is None:
            raise ShoalError(f"{file}: has no summary; expected a file that was finished")
        notes = {k: v for record in reader.iter_metadata() if record.name == NOTES for k, v in record.metadata.items()}
    statistics, topics = summary.statistics, {}
    for number, channel in summary.channels.items():
        qos = yaml.safe_load(channel.metadata.get("offered_qos_profiles", "")) or []
        topics[channel.topic] = {
            "topic_metadata": {
                "name": channel.topic,
                "type": summary.schemas[channel.schema_id].name,
                "serialization_format": channel.message_encoding,
                "offered_qos_profiles": qos,
                "type_description_hash": channel.metadata.get("topic_type_hash", ""),
            },
            "message_count": statistics.channel_message_counts.get(number, 0),
        }
    facts = {
        "path": file.name,
        "starting_time": {"nanoseconds_since_epoch": statistics.message_start_time},
        "duration": {"nanoseconds": statistics.message_end_time - statistics.message_start_time},
        "message_count": statistics.message_count,
    }
    return facts, topics, notes


def read_notes(folder: Path) -> dict[str, str]:
    """The custom data of a recording; empty when it has none."""
    file = folder / METADATA
    data = yaml.safe_load(file.read_text(encoding="utf-8")) if file.is_file() else None
    notes = data.get("rosbag2_bagfile_information", {}).get("custom_data") if isinstance(data, dict) else None
    return {str(key): str(value) for key, value in (notes or {}).items()}


def count_messages(files: list[Path]) -> int:
    """In finished files."""
    return sum(_file_facts(file)[0]["message_count"] for file in files)
