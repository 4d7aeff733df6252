"""Who of a joined group flies it, as one of its members sees it: no vote, and never two for longer than a message."""

from __future__ import annotations

from shoal.messages.joining import GroupCommand

TAKE_OVER_S = 0.3  # without a command; less than the thrusters' command timeout, so that thrust goes on


class Helm:
    """The first member flies until its commands stay away; then the next one, for good.

    Members wait one after the other, so that the next in line has spoken before the one after it would. If two fly
    nevertheless, the higher term is obeyed, and of equals the member that comes first.
    """

    def __init__(
        self,
        me: str,
        members: tuple[str, ...],
        t_s: float,
        listen_first: bool = False,
        take_over_s: float = TAKE_OVER_S,
    ) -> None:
        """`listen_first`: we are late, and another one may be flying already."""
        self._me, self.members, self.take_over_s = me, members, take_over_s
        self.pilot: str | None = None if listen_first else members[0]
        self.term = 0
        self._heard_s = self._watched_s = t_s

    @property
    def flies(self) -> bool:
        """Whether it is us."""
        return self.pilot == self._me

    def heard(self, command: GroupCommand, t_s: float) -> bool:
        """Whether a command is the pilot's; we stand down if another one has taken over."""
        if command.pilot not in self.members or command.pilot == self._me:
            return False
        rank, known = (-command.term, self._place(command.pilot)), (-self.term, self._place(self.pilot))
        if self.pilot is not None and rank > known:
            return False
        self.pilot, self.term, self._heard_s = command.pilot, command.term, t_s
        return True

    def wait(self, t_s: float) -> None:
        """That nobody was heard until now means nothing: we could not have heard anybody."""
        self._heard_s = self._watched_s = t_s

    def watch(self, t_s: float) -> bool:
        """Whether we fly from now on, since nobody else does."""
        if self.flies:
            return False
        if not 0.0 <= t_s - self._watched_s <= self.take_over_s:
            self._heard_s = t_s  # a clock that has jumped, or we have slept: that nobody was heard means nothing
        self._watched_s = t_s
        turn = (self._place(self._me) - self._place(self.pilot) - 1) % len(self.members) + 1
        if t_s - self._heard_s < turn * self.take_over_s - 1e-9:
            return False
        self.pilot, self.term = self._me, self.term + 1
        return True

    def _place(self, name: str | None) -> int:
        return -1 if name is None else self.members.index(name)
