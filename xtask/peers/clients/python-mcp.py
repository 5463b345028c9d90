"""The Python SDK mcp 2.3.0. usage: CLIENTS_LOG=… CLIENTS_ERA=legacy|auto python python-mcp.py http URL | stdio PROGRAM…"""

import asyncio
import os
import sys

import mcp_types
from mcp import Client
from mcp.client.stdio import StdioServerParameters

import checks


class Peer:
    answer = None

    def __init__(self, client):
        self.client = client

    @property
    def protocol(self):
        return self.client.protocol_version

    async def list(self):
        tools, cursor = [], None
        while True:
            page = await self.client.list_tools(cursor=cursor)
            tools.extend(page.tools)
            cursor = page.next_cursor
            if cursor is None:
                return tools

    async def call(self, name, arguments, progress=None):
        return await self.client.call_tool(name, arguments, progress_callback=progress)


async def main():
    kind, first, *rest = checks.where()
    mode, wanted = checks.era()
    server = first if kind == "http" else StdioServerParameters(command=first, args=rest[0], env=dict(os.environ))
    peer = Peer(None)

    async def elicited(_context, params):
        if peer.answer(checks.question(params)):
            return mcp_types.ElicitResult(action="accept", content=checks.filled(params.requested_schema, True))
        return mcp_types.ElicitResult(action="decline")

    async with Client(server, mode=mode, elicitation_callback=elicited) as client:
        peer.client = client
        return await checks.run(peer, f"py-{kind}-{mode}", wanted)


sys.exit(1 if asyncio.run(main()) else 0)
