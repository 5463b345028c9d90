"""What every client does with `toolwright serve`, in front of `desk.mjs`; as `checks.mjs`, for clients in Python.

A client is an object with `list()`, `call(name, input, progress=None)`, `protocol` and `answer`: `answer(question)` is set
here and called by it. Cancelling is cancelling the task that calls.
"""

import asyncio
import json
import os
import re
import sys

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
HANGS_S = 30


def must(truth, why):
    if not truth:
        raise AssertionError(why)


def shown(value):
    return str(value)[:600]


def events():
    with open(os.environ["CLIENTS_LOG"], encoding="utf-8") as log:
        return log.read().split("\n")


def happened(event):
    return events().count(event)


async def eventually(event, why):
    for _ in range(150):
        if happened(event):
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"{why}: {event} is not in the server's log: {'; '.join(events()[-8:])}")


def filled(schema, yes):
    """The content of a form that says yes or no: a truth value, or one of some words."""
    wanted = re.compile(r"yes|approve|allow|accept|once" if yes else r"no|den|decline|refuse|reject", re.I)
    content = {}
    for name, prop in (schema or {}).get("properties", {}).items():
        words = prop.get("enum") or [one["const"] for one in prop.get("oneOf", [])]
        if prop.get("type") == "boolean":
            content[name] = yes
        elif words:
            content[name] = next((word for word in words if wanted.match(word)), words[0])
        elif name in (schema.get("required") or []):
            content[name] = "because a test says so"
    return content


class Checks:
    def __init__(self, client, mark):
        self.client, self.mark = client, mark

    def subject(self, what):
        return f"{self.mark}-{what}"

    async def lists_the_tools_under_names_that_fit(self):
        tools = {tool.name: tool for tool in await self.client.list()}
        for name in tools:
            must(NAME.fullmatch(name), f"`{name}` does not fit")
        for name in ["desk_look", "desk_note", "desk_wait", "report", "remember", "slow"]:
            must(name in tools, f"`{name}` is not among {list(tools)}")
        must("letters" in ((tools["report"].output_schema or {}).get("properties") or {}), f"no output schema: {shown(tools['report'])}")
        hints = tools["remember"].annotations
        must(not (hints and hints.read_only_hint), "what writes is said to be read-only")

    async def calls_a_composite_with_progress_and_gets_structured_content(self):
        seen = []

        async def progress(at, _total, _message):
            seen.append(at)

        result = await self.client.call("report", {"subject": self.subject("report")}, progress)
        must(not result.is_error, shown(result))
        must((result.structured_content or {}).get("letters") == len(self.subject("report")), shown(result))
        must(any(block.type == "text" for block in result.content), f"no text for a client that knows no structure: {shown(result)}")
        must(len(seen) >= 2, f"progress of two steps came as {seen}")
        must(all(before < after for before, after in zip(seen, seen[1:])), f"progress does not rise: {seen}")

    async def is_asked_says_yes_and_the_write_happens_once(self):
        asked = []
        self.client.answer = lambda question: asked.append(question) or True
        subject = self.subject("yes")
        result = await self.client.call("remember", {"subject": subject})
        must(len(asked) == 1, f"asked {len(asked)} times: {asked} {shown(result)}")
        must("desk_note" in asked[0] and subject in asked[0], f"the question shows neither tool nor arguments: {asked[0]}")
        must(not result.is_error and (result.structured_content or {}).get("kept") == subject, shown(result))
        must(happened(f"done note {subject}") == 1, "the note was not written once")

    async def is_asked_says_no_and_nothing_is_written(self):
        asked = []
        self.client.answer = lambda question: asked.append(question) and False
        subject = self.subject("no")
        result = await self.client.call("remember", {"subject": subject})
        must(len(asked) == 1, f"asked {len(asked)} times: {shown(result)}")
        must(result.is_error and "approval_denied" in str(result), shown(result))
        must(happened(f"done look {subject}") == 1, "the read before it did not run")
        must(not happened(f"called note {subject}"), "the note was written")

    async def cancels_and_the_server_behind_stops(self):
        self.client.answer = lambda _question: False
        subject = self.subject("slow")
        call = asyncio.create_task(self.client.call("slow", {"subject": subject}))
        await eventually(f"called wait {subject}", "it did not begin")
        await asyncio.sleep(0.3)
        call.cancel()
        await eventually(f"cancelled wait {subject}", "the call upstream was not cancelled")
        await asyncio.wait([call], timeout=5)
        must(not happened(f"called note {subject}"), "the step after it ran")
        result = await self.client.call("report", {"subject": self.subject("after")})
        must((result.structured_content or {}).get("letters") == len(self.subject("after")), f"afterwards: {shown(result)}")


async def run(client, mark, wanted):
    """Runs all checks with a connected client; answers how many failed."""
    failed = 0
    if client.protocol == wanted:
        print(f"ok speaks {wanted}", flush=True)
    else:
        failed += 1
        print(f"not ok speaks {wanted}: it speaks {client.protocol}", flush=True)
    for name in [name for name in vars(Checks) if not name.startswith("_") and name != "subject"]:
        try:
            await asyncio.wait_for(getattr(Checks(client, mark), name)(), HANGS_S)
            print(f"ok {name.replace('_', ' ')}", flush=True)
        except BaseException as error:  # A failure of any kind is a failed check, and the next one runs.
            failed += 1
            print(f"not ok {name.replace('_', ' ')}: {type(error).__name__}: {' '.join(str(error).split())}", flush=True)
    return failed


def where():
    """Where the server is: `("http", url)`, or `("stdio", program, arguments)`."""
    kind, first, *rest = sys.argv[1:]
    return (kind, first) if kind == "http" else (kind, first, rest)


def era():
    """What is asked for, and which protocol version must come of it."""
    mode = os.environ.get("CLIENTS_ERA", "auto")
    return mode, ("2025-11-25" if mode == "legacy" else "2026-07-28")


def question(params):
    return f"{params.message} {json.dumps(params.requested_schema)}"
