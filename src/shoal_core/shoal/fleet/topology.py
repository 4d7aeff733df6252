"""Who must see whom: directed pairs (a, b), vehicle a must keep b inside its cone.

Ring, chain and star follow the order of `names`; hand in `slots.order` when they should follow the places in a
formation. A vehicle that faces the middle of a regular ring of V sees the one `stride` places on at an angle of
|90° - 180°·stride/V|, so a large ring can keep sight across (star, across) but not of its next neighbour.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shoal.errors import ShoalError
from shoal.messages.placement import NamePairs

KINDS = ("all", "ring", "chain", "star", "across", "none")
Pairs = NamePairs


def pairs(kind: str | Iterable[Sequence[str]], names: Sequence[str], stride: int = 1) -> Pairs:
    """The pairs of a named topology, or the given ones checked.

    all: everyone everyone; ring: each the next, around; chain: each the one before it (the first leads); star: each
    those `stride` places away on either side, so that sight is mutual as an optical link needs; across: each two of
    those most nearly opposite, mutually, so that all of them make one closed chain: whoever fails, the others stay
    connected; none: nobody.
    """
    if len(set(names)) != len(names):
        raise ShoalError(f"topology: vehicles {list(names)} repeat a name; expected different names")
    if not isinstance(kind, str):
        return _given(kind, names)
    if kind not in KINDS:
        raise ShoalError(f"topology: '{kind}' is unknown; expected one of: {', '.join(KINDS)}, or a list of pairs")
    count = len(names)
    if kind == "none" or count < 2:
        return ()
    if kind == "all":
        return tuple((a, b) for a in names for b in names if a != b)
    if kind == "chain":
        return tuple((names[i + 1], names[i]) for i in range(count - 1))
    if kind == "ring":
        return tuple((names[i], names[(i + 1) % count]) for i in range(count))
    if kind == "across":
        chain = [names[i] for i in _closed_chain(count)]
        links = [(a, b) for i, a in enumerate(chain) for b in (chain[i - 1], chain[(i + 1) % count])]
        return tuple(dict.fromkeys(links))
    if not 1 <= stride < count:
        raise ShoalError(f"topology: stride = {stride} with {count} vehicles; expected 1 to {count - 1}")
    both_sides = [(names[i], names[(i + step) % count]) for i in range(count) for step in (stride, -stride)]
    return tuple(dict.fromkeys(both_sides))  # opposite ones are met from either side


def _closed_chain(count: int) -> list[int]:
    """Places on a ring in the order of a closed chain whose links all lead across it.

    Seen from its bow, which halves the angle between its two, nobody has them further off than 90°/V if V is odd, 22.5°
    if V = 4, and 180°/V for all other even V: there the links of V/2 places alone would leave pairs.
    """
    half = count // 2
    if count == 4:
        return [0, 2, 1, 3]  # two diagonals and two sides
    if count % 4 == 2:  # strides of V/2 - 1 make two chains: each cut open, and joined by two diagonals
        even = [i * (half - 1) % count for i in range(half)]
        return even + [(i + half) % count for i in reversed(even)]
    stride = half if count % 2 else half - 1  # coprime with V: one chain
    return [i * stride % count for i in range(count)]


def _given(given: Iterable[Sequence[str]], names: Sequence[str]) -> Pairs:
    """Each pair two different known vehicles; a pair given twice counts once."""
    checked: dict[tuple[str, str], None] = {}
    for pair in given:
        if isinstance(pair, str) or len(pair) != 2:
            raise ShoalError(f"topology: pair {pair!r}; expected two vehicle names")
        a, b = pair
        for name in (a, b):
            if name not in names:
                raise ShoalError(
                    f"topology: '{name}' in pair {list(pair)} is unknown; expected one of: {', '.join(names)}"
                )
        if a == b:
            raise ShoalError(f"topology: pair {list(pair)} names one vehicle twice; expected two different ones")
        checked[a, b] = None
    return tuple(checked)
