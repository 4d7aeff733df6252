"""README and the tutorials from top to bottom, as a newcomer would: a fresh clone, command by command, with times.

    make tutorials                          with an environment of its own: the first minutes are its setup
    make tutorials ARGS='--here docking'    with this checkout's environment; sections whose title has the word

Prints a table for docs/tutorials.md; exit code 1 when a command fails. What would last until Ctrl-C gets one.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = {"README.md": ".", "docs/tutorials.md": "examples"}  # and the folder in which a page has its commands run
LEFT_OUT = {  # what is no command here, or is this tool's own doing
    "git clone": "the clone is there",
    "make test": "the suite has its own job",
    "source ": "the environment is on the path",
}
ENDLESS_S = 20.0  # then Ctrl-C
LONGEST_S = 1800.0


@dataclass(frozen=True)
class Command:
    """A line of an indented block."""

    page: str
    section: str
    line: str

    @property
    def folder(self) -> str:
        """Where it is run, from the checkout's root."""
        return PAGES[self.page]

    @property
    def endless(self) -> bool:
        """Whether only Ctrl-C ends it."""
        return self.line.startswith("shoal up") and "--for" not in self.line

    @property
    def left_out(self) -> str:
        """Why it is not run; empty: it is."""
        return next((why for start, why in LEFT_OUT.items() if self.line.startswith(start)), "")


def commands(page: str, root: Path = ROOT) -> list[Command]:
    """In the page's order."""
    found, section = [], ""
    for line in (root / page).read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"#+ +(.*)", line):
            section = heading[1]
        elif block := re.match(r" {4}([a-z].*)", line):
            text = re.sub(r"\s+#.*", "", block[1])
            found += [Command(page, section, part.strip()) for part in text.split(" && ")]
    return [command for command in found if not command.line.startswith("cd ")]


def run(command: Command, root: Path, environment: dict[str, str]) -> tuple[int, float, float, str]:
    """Exit code, wall and CPU seconds, and what it printed last."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            ["bash", "-c", f"exec {command.line}"], cwd=root / command.folder, env=environment,
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True, preexec_fn=heeds_ctrl_c,
        )  # fmt: skip
        try:
            code = process.wait(ENDLESS_S if command.endless else LONGEST_S)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            try:
                code = process.wait(30.0)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                code = process.wait()
            code = code if command.endless else 124
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # its own session, nobody else's
        output.seek(0)
        said = output.read().decode("utf-8", "replace")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return code, time.monotonic() - began, cpu_s, "\n".join(said.splitlines()[-15:])


def heeds_ctrl_c() -> None:
    """In the child: a background job inherits an ignored SIGINT, and no command would end at Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def table(done: Iterable[tuple[Command, float]]) -> str:
    """Markdown; CPU seconds, as they depend least on what else the machine is doing."""
    rows = [f"| `{command.line}` | {cpu_s:.0f} |" for command, cpu_s in done]
    return "\n".join(["| command | CPU time, s |", "|---|---|", *rows])


def main() -> int:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="only sections whose title has one of them")
    parser.add_argument("--here", action="store_true", help="with this checkout's .venv instead of a new one")
    parser.add_argument("--page", choices=[*PAGES], action="append", help="only this page")
    parser.add_argument("--list", action="store_true", help="only show the commands")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what is running is ended, too
    chosen = [
        command for page in given.page or PAGES for command in commands(page)
        if not given.words or any(word.lower() in command.section.lower() for word in given.words)
    ]  # fmt: skip
    if given.list:
        for command in chosen:
            why = f"   (not run: {command.left_out})" if command.left_out else ""
            print(f"{command.page} [{command.section}]  {command.line}{why}")
        return 0
    done: list[tuple[Command, float]] = []
    failed = 0
    with tempfile.TemporaryDirectory(prefix="shoal-tutorials-") as scratch:
        clone = Path(scratch) / "shoal"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        if given.here:
            (clone / ".venv").symlink_to(ROOT / ".venv")
        else:
            subprocess.run(["make", "--quiet", "setup"], cwd=clone, check=True)
        # No window may open, and nobody's ROS may be joined.
        alone = ("DISPLAY", "WAYLAND_DISPLAY", "ROS_DOMAIN_ID")
        kept = {key: value for key, value in os.environ.items() if key not in alone}
        environment = kept | {
            "PATH": f"{clone / '.venv/bin'}:{os.environ['PATH']}",
            "VIRTUAL_ENV": str(clone / ".venv"),
        }
        for command in chosen:
            if command.left_out or (given.here and command.line.startswith("make ")):  # its setup would move ours
                continue
            code, wall_s, cpu_s, said = run(command, clone, environment)
            done.append((command, cpu_s))
            failed += code != 0
            state = "ok    " if code == 0 else f"exit {code}"
            print(f"{state} {wall_s:6.0f} s {cpu_s:6.0f} s CPU  {command.line}", flush=True)
            if code != 0:
                print(said, flush=True)
    print("\n" + table(done))
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
