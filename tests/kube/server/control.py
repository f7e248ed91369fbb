# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Commands, by a Unix socket in the state directory (which namespaces of networks do not hide) or
from a scenario. One a line; the answer is what it prints, then `ok` or `error: WHY`.

COMMANDS is the table: word, arguments, what it does; `help` prints it, README.md explains it.
"""
import asyncio
import os
import shlex

from . import status
from .commands import COMMANDS, Wrong

LINE = 64 << 20  # bytes of a line: a command may hold an object


def split(line):
    """A command's words; what begins with { or [ is one word to the end of the line."""
    words, rest = [], line.strip()
    while rest:
        if rest[0] in "{[":
            return [*words, rest]
        if rest[0] in "'\"":
            return words + shlex.split(rest)
        word, _, rest = rest.partition(" ")
        words.append(word)
        rest = rest.lstrip()
    return words


async def run(lab, line):
    """Runs a command, returns what it prints; raises Wrong with what was wrong."""
    words = split(line)
    if not words:
        return ""
    command = COMMANDS.get(words[0])
    if command is None:
        raise Wrong(f"{words[0]}: no such command (help)")
    try:
        return await command.run(lab, words[1:]) or ""
    except status.Refusal as no:
        raise Wrong(f"{words[0]}: {no}") from None
    except (ValueError, LookupError, OSError, AttributeError, TypeError) as why:
        raise Wrong(f"{words[0]}: {why} (usage: {words[0]} {command.usage})") from None


class Control:
    def __init__(self, lab, path):
        self._lab, self._path = lab, path

    async def up(self):
        if os.path.exists(self._path):
            os.unlink(self._path)
        return await asyncio.start_unix_server(self._serve, self._path, limit=LINE)

    async def _serve(self, reader, writer):
        try:
            while line := await reader.readline():
                try:
                    said = await run(self._lab, line.decode())
                    end = "ok\n"
                except Wrong as why:
                    said, end = "", f"error: {why}\n".replace("\n", " ").rstrip() + "\n"
                if said and not said.endswith("\n"):
                    said += "\n"
                writer.write((said + end).encode())
                await writer.drain()
        except ConnectionError:
            pass  # of the one who asked nothing is left
        finally:
            writer.close()
