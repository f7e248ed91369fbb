# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A scenario: commands (commands.py) one after the other, from a file. A # begins a comment; a line
that ends with & is not waited for."""
import asyncio
import re
import sys

from .commands import Wrong
from .control import run


def read(path):
    """-> [(line number, command, in the background)]"""
    with open(path, encoding="utf-8") as file:
        lines = [re.sub(r"(^|\s)#.*", "", line).strip() for line in file]
    return [(number, line.removesuffix("&").strip(), line.endswith("&"))
            for number, line in enumerate(lines, 1) if line]


async def play(lab, path):
    """Ends at the first command that fails, and says which on standard error."""
    running = set()

    async def one(number, line):
        try:
            said = await run(lab, line)
        except Wrong as why:
            print(f"{path}:{number}: {why}", file=sys.stderr, flush=True)
            return False
        if said:
            print(said, flush=True)
        return True

    for number, line, background in read(path):
        if background:
            running.add(asyncio.ensure_future(one(number, line)))
        elif not await one(number, line):
            return False
    return all(await asyncio.gather(*running))
