"""docs/topics.md, made from the table of topics that the nodes themselves open."""

from __future__ import annotations

from shoal.messages.qos import PROFILES
from shoal.messages.topic_contents import CONTENTS
from shoal.messages.topics import TOPICS, Topic

HEAD = """\
# Topics

<!-- Made by `shoal docs topics --out docs/topics.md` from shoal.messages.topics: change it there. -->

World `map` is ENU, bodies `<vehicle>/base_link` are FLU, twists are in the body frame (REP-103, REP-105). The core has
NED and FRD; `shoal.recordings.codec` is the one place that converts. Time is ROS time. Standard message packages only.

| topic | type | QoS | from | to |
|---|---|---|---|---|
"""


def topics_page() -> str:
    """The whole page."""
    table = "".join(f"| {' | '.join(_cells(topic))} |\n" for topic in TOPICS)
    contents = "".join(f"* `{_shown(topic)}`: {CONTENTS[topic]}.\n" for topic in TOPICS if topic in CONTENTS)
    return f"{HEAD}{table}\n## What is in them\n{contents}"


def _cells(topic: Topic) -> tuple[str, ...]:
    return f"`{_shown(topic)}`", topic.type, str(PROFILES[topic.qos]), topic.source, topic.sinks


def _shown(topic: Topic) -> str:
    return topic.name.replace("{", "<").replace("}", ">")
