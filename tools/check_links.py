"""Links between the pages of this repository: every file and every heading that a page names exists. For `make lint`.

Addresses outside the repository are not opened: lint must work offline and give the same answer every day.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")


def anchors(page: Path) -> set[str]:
    """As GitHub and mkdocs make them of headings: lower case, punctuation dropped, blanks to hyphens."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    names = (
        re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", line)).strip().lower().replace(" ", "-")
        for line in re.findall(r"^#{1,6} +(.+?) *$", text, re.MULTILINE)
    )
    return {*names, *re.findall(r'<a (?:id|name)="([^"]+)"', text)}


def problems(page: Path, root: Path) -> list[str]:
    """`page: link: what is wrong` for each link of one page that leads nowhere."""
    found = []
    text = CODE.sub("", FENCE.sub("", page.read_text(encoding="utf-8")))
    for link in LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        where = f"{page.relative_to(root)}: {link}"
        if not target.is_relative_to(root):
            found.append(f"{where}: leads out of the repository")
        elif not target.exists():
            found.append(f"{where}: no such file")
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            found.append(f"{where}: no such heading")
    return found


def pages(root: Path) -> list[Path]:
    """Markdown files under version control, or not yet added."""
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [root / name for name in listed.stdout.splitlines() if (root / name).is_file()]


def main() -> int:
    """0, or 1 with one line for each broken link."""
    root = Path(__file__).resolve().parents[1]
    found = [problem for page in pages(root) for problem in problems(page, root)]
    print("\n".join(found) if found else f"links: {len(pages(root))} pages, all found")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
