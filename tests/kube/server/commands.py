# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The commands of the control socket and of scenarios: the table, and what each does to the lab (see
lab.py)."""
import asyncio
import json
import os
import time

from . import objects, status, watch
from . import patch as patches
from .faults import Fault
from .kinds import BY_PLURAL, KINDS, of_object
from .load import churn, populate
from .pods import Pods

FOREVER = 600  # seconds after which `until` gives up


class Wrong(Exception):
    """What was wrong with a command, in one line."""


class Command:
    def __init__(self, run, usage, says):
        self.run, self.usage, self.says = run, usage, says


COMMANDS = {}


def command(usage, says):
    def enter(function):
        COMMANDS[function.__name__.rstrip("_")] = Command(function, usage, says)
        return function
    return enter


def kind_of(word):
    kind = BY_PLURAL.get(word)
    if kind is None:
        raise ValueError(f"{word}: no such resource; there are {', '.join(BY_PLURAL)}")
    return kind


def place(word):
    """RESOURCE[/SUB]/NAMESPACE/NAME, or RESOURCE/NAME -> (kind, sub, namespace, name)."""
    resource, *rest = word.split("/")
    kind = kind_of(resource)
    sub = rest.pop(0) if kind.status and len(rest) > 1 and rest[0] == "status" else None
    if len(rest) != (2 if kind.namespaced else 1):
        raise ValueError(f"{word}: not RESOURCE/{'NAMESPACE/' if kind.namespaced else ''}NAME")
    return kind, sub, (rest[0] if kind.namespaced else None), rest[-1]


def meant(words):
    """The objects that words are: JSON, or names of files."""
    if not words:
        raise ValueError("no object")
    if words[0][:1] in ("{", "["):
        return objects.parse(words[0])
    return [obj for path in words for obj in objects.load(path)]


def options(words):
    """name=value of words -> (other words, {name: value})"""
    pairs = dict(word.split("=", 1) for word in words if "=" in word)
    return [word for word in words if "=" not in word], pairs


# ---- objects -------------------------------------------------------------------------------------


@command("FILE...|JSON", "creates objects, or puts them in the place of those there")
async def apply(lab, words):
    for obj in meant(words):
        lab.cluster.apply(of_object(obj), obj)


@command("FILE...|JSON", "creates objects that are not there")
async def create(lab, words):
    for obj in meant(words):
        kind = of_object(obj)
        if kind.namespaced:
            lab.cluster.namespace(obj["metadata"].get("namespace"))
        lab.cluster.create(kind, obj, None)


@command("FILE...|JSON", "puts objects there unchecked and as they are")
async def raw(lab, words):
    for obj in meant(words):
        lab.cluster.raw(of_object(obj), obj)


@command("RESOURCE[/status]/NAMESPACE/NAME JSON", "merges a JSON merge patch into an object")
async def merge(lab, words):
    kind, sub, namespace, name = place(words[0])
    old = lab.cluster.get(kind, namespace, name)
    lab.cluster.update(kind, old, patches.merge(old.copy(), json.loads(words[1])), sub)


@command("RESOURCE/NAMESPACE/NAME...", "deletes objects")
async def delete(lab, words):
    for word in words:
        kind, _, namespace, name = place(word)
        lab.cluster.delete(kind, lab.cluster.get(kind, namespace, name))


@command("RESOURCE", "deletes all objects of a resource")
async def clear(lab, words):
    kind = kind_of(words[0])
    for entry in list(lab.cluster.store.shelves[kind].now()):
        lab.cluster.delete(kind, entry)


@command("RESOURCE/NAMESPACE/NAME", "prints an object")
async def get(lab, words):
    kind, _, namespace, name = place(words[0])
    return lab.cluster.get(kind, namespace, name).full().decode()


@command("RESOURCE", "prints the names of all objects of a resource")
async def list_(lab, words):
    return "\n".join(entry.key for entry in lab.cluster.store.shelves[kind_of(words[0])].now())


@command("", "prints the newest resourceVersion")
async def revision(lab, _):
    return str(lab.cluster.store.revision)


# ---- pods ----------------------------------------------------------------------------------------


@command("[NAMESPACE/]SERVICE ADDRESS ready|unready|leaving|ending|gone",
         "what the slices say of a pod from now on")
async def pod(lab, words):
    Pods(lab.cluster, words[0]).set(words[1], words[2])


@command("[NAMESPACE/]SERVICE ADDRESS [node=NAME] [ready=1]",
         "a pod comes, and is ready after so many seconds")
async def come(lab, words):
    words, said = options(words)
    await Pods(lab.cluster, words[0]).come(words[1], said.get("node"), float(said.get("ready", 1)))


@command("[NAMESPACE/]SERVICE ADDRESS [serving=2] [ending=1]",
         "a pod goes: serves for so many seconds more, is gone so many seconds later")
async def leave(lab, words):
    words, said = options(words)
    await Pods(lab.cluster, words[0]).leave(words[1], float(said.get("serving", 2)),
                                            float(said.get("ending", 1)))


@command("[NAMESPACE/]SERVICE OLD,NEW[@NODE]... [ready=1] [serving=2] [ending=1]",
         "a rolling update: each old pod goes when the new one in its place is ready")
async def rollout(lab, words):
    words, said = options(words)
    pods = Pods(lab.cluster, words[0])
    going = []
    for pair in words[1:]:
        old, _, new = pair.partition(",")
        new, _, node = new.partition("@")
        await pods.come(new, node or None, float(said.get("ready", 1)))
        going.append(asyncio.ensure_future(pods.leave(
            old, float(said.get("serving", 2)), float(said.get("ending", 1)))))
    await asyncio.gather(*going)


# ---- load ----------------------------------------------------------------------------------------


@command("SERVICES ENDPOINTS [slice=100] [namespace=load] [nodes=1]",
         "makes Services of type LoadBalancer with so many endpoints each")
async def many(lab, words):
    words, said = options(words)
    populate(lab.cluster, int(words[0]), int(words[1]), int(said.get("slice", 100)),
             said.get("namespace", "load"), int(said.get("nodes", 1)))


@command("RATE SECONDS [namespace=load] [log=FILE]",
         "changes so many slices a second; prints how many it did")
async def churn_(lab, words):
    words, said = options(words)
    rate, seconds = map(float, words)
    with open(said.get("log", os.devnull), "w", encoding="utf-8") as log:
        return await churn(lab.cluster, rate, seconds, said.get("namespace", "load"), log)


# ---- faults --------------------------------------------------------------------------------------


def add_fault(lab, how, said):
    seconds, times = said.get("for"), said.get("times")
    lab.faults.add(Fault(how, said.get("retry-after"), None if seconds is None else float(seconds),
                         None if times is None else int(times), verb=said.get("verb"),
                         resource=said.get("resource"), user=said.get("user")))


WHICH = "[for=SECONDS] [times=N] [verb=V] [resource=R] [user=U]"


@command(f"CODE [retry-after=S] {WHICH}", "answers requests with a code")
async def answer(lab, words):
    words, said = options(words)
    add_fault(lab, int(words[0]), said)


@command(WHICH, "takes requests and never answers: a watch begins and says nothing")
async def hang(lab, words):
    add_fault(lab, Fault.HANG, options(words)[1])


@command(WHICH, "closes the connection instead of answering")
async def reset(lab, words):
    add_fault(lab, Fault.RESET, options(words)[1])


@command(f"{WHICH} TEXT", "answers requests with code 200 and that text")
async def garble(lab, words):
    known = ("for=", "times=", "verb=", "resource=", "user=")
    said = [word for word in words if word.startswith(known)]
    add_fault(lab, " ".join(word for word in words if word not in said), options(said)[1])


@command("", "ends every fault and every way of cutting")
async def heal(lab, _):
    lab.faults.clear()
    lab.watchers.freeze(None, False)
    lab.manners.split, lab.manners.drip = 0, None


@command("BYTES", "cuts answers at places drawn by chance, in pieces up to so long; 0: no more")
async def split(lab, words):
    lab.manners.split = int(words[0])


@command("BYTES SECONDS|off", "sends so many bytes, then pauses")
async def drip(lab, words):
    lab.manners.drip = None if words[0] == "off" else (int(words[0]), float(words[1]))


@command("on|off", "compresses long answers for those who take it")
async def gzip(lab, words):
    lab.manners.gzip = {"on": True, "off": False}[words[0]]


@command("SECONDS|off", "bookmarks, for those who allow them")
async def bookmarks(lab, words):
    lab.watchers.bookmarks = None if words[0] == "off" else float(words[0])
    for stream in lab.watchers.of():
        stream.poke()


@command("on|off", "whether sendInitialEvents is understood or refused")
async def initial(lab, words):
    lab.watchers.initial_events = {"on": True, "off": False}[words[0]]


@command("", "forgets history: older versions are answered 410")
async def compact(lab, _):
    lab.cluster.store.compact()


@command("N", "dies, and is back with versions N before the newest, as from a restored backup")
async def rewind(lab, words):
    await lab.down()
    lab.cluster.store.rewind(int(words[0]))
    await lab.up()


@command("RESOURCE LINE", "sends watchers a line as it is")
async def emit(lab, words):
    lab.watchers.send(kind_of(words[0]), " ".join(words[1:]).encode())


@command("CODE [RESOURCE]", "an ERROR event to watchers, whose stream then ends")
async def error(lab, words):
    kinds = [kind_of(words[1])] if len(words) > 1 else KINDS
    for kind in kinds:
        lab.watchers.send(kind, watch.error(status.by_code(int(words[0]))).rstrip())
        lab.watchers.end(kind)


@command("[RESOURCE]", "watches that there are say nothing until heal, like a network that lost them")
async def freeze(lab, words):
    lab.watchers.freeze(kind_of(words[0]) if words else None, True)


@command("[RESOURCE]", "ends watches as their time-out does")
async def end(lab, words):
    lab.watchers.end(kind_of(words[0]) if words else None)


@command("[SECONDS]", "dies in mid-stream; for good, or for so long")
async def down(lab, words):
    await lab.down()
    if words:
        await asyncio.sleep(float(words[0]))
        await lab.up()


@command("", "is there again")
async def up(lab, _):
    await lab.up()


@command("[lasts=3600] [grace=0]", "puts a new token for poise; the old one is good for a while more")
async def rotate(lab, words):
    _, said = options(words)
    lab.access.rotate(float(said.get("lasts", 3600)), float(said.get("grace", 0)))


@command("", "the token of poise is good no more")
async def expire(lab, _):
    lab.access.expire_projected()


# ---- for tests -----------------------------------------------------------------------------------


@command("[RESOURCE]", "prints how many watches there are")
async def watching(lab, words):
    return str(len(lab.watchers.of(kind_of(words[0]) if words else None)))


@command("", "prints how many watches have begun, ever")
async def begun(lab, _):
    return str(lab.watchers.begun)


@command("RESOURCE [N=1] [seconds=600]", "waits until it is watched by N at the least")
async def until(lab, words):
    words, said = options(words)
    kind, wanted = kind_of(words[0]), int(words[1]) if len(words) > 1 else 1
    ends = time.monotonic() + float(said.get("seconds", FOREVER))
    while len(lab.watchers.of(kind)) < wanted:
        left = ends - time.monotonic()
        if left <= 0:
            raise Wrong(f"until: {words[0]} are watched by {len(lab.watchers.of(kind))}")
        await asyncio.wait({lab.cluster.store.news()}, timeout=left)


@command("SECONDS", "waits")
async def wait(lab, words):
    await asyncio.sleep(float(words[0]))


@command("", "prints the process's number")
async def pid(lab, _):
    return str(os.getpid())


@command("", "prints this list")
async def help_(lab, _):
    return "\n".join(f"{name} {c.usage}\n    {c.says}" for name, c in COMMANDS.items())
