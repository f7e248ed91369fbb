# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What goes wrong with requests, until a time or for a number of them: answers of a server in trouble,
answers that are none, no answer."""
import asyncio
import time

from . import status


class Fault:
    """What is done instead of what was asked: a code is answered (a number), or HANG, RESET, or the
    text itself with code 200. Of `only`, what is not None must be as the request's."""

    HANG, RESET = "hang", "reset"

    def __init__(self, how, retry_after=None, seconds=None, times=None, **only):
        self.how, self.retry_after, self.times = how, retry_after, times
        self.until = None if seconds is None else time.monotonic() + seconds
        self.only = {name: value for name, value in only.items() if value is not None}

    def over(self):
        return self.times == 0 or (self.until is not None and time.monotonic() >= self.until)

    def meets(self, **request):
        return not self.over() and all(request.get(name) == value
                                       for name, value in self.only.items())


class Faults:
    def __init__(self):
        self._faults = []

    def add(self, fault):
        self._faults.append(fault)

    def clear(self):
        """Who hangs goes on hanging: to him nobody comes back."""
        self._faults = []

    async def meet(self, answer, verb, resource, user):
        """Refuses, answers something else (True), hangs until the client leaves, or does nothing."""
        self._faults = [fault for fault in self._faults if not fault.over()]
        for fault in self._faults:
            if not fault.meets(verb=verb, resource=resource, user=user):
                continue
            if fault.times is not None:
                fault.times -= 1
            if isinstance(fault.how, int):
                raise status.by_code(fault.how, fault.retry_after)
            if fault.how == Fault.HANG:
                await self._hang(answer, verb)
            if fault.how == Fault.RESET:
                answer.wire.break_off(False)
                raise ConnectionResetError("as was told")
            await answer.send(200, fault.how.encode())
            return True
        return False

    async def _hang(self, answer, verb):
        """A watch begins (200) and says nothing; anything else is not even answered."""
        if verb == "watch":
            await answer.start(200, [("Content-Type", "application/json")])
        await asyncio.wait({answer.gone()})
        raise ConnectionResetError("the client left")
