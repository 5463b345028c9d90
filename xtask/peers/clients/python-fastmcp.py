"""FastMCP 4.2.3's client. usage: CLIENTS_LOG=… CLIENTS_ERA=legacy|auto python python-fastmcp.py http URL | stdio PROGRAM…"""

import asyncio
import os
import sys

from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport

import checks


class Peer:
    answer = None

    def __init__(self, client):
        self.client = client

    @property
    def protocol(self):
        return self.client.session.protocol_version

    async def list(self):
        return await self.client.list_tools()

    async def call(self, name, arguments, progress=None):
        return await self.client.call_tool_mcp(name, arguments, progress_handler=progress)


async def main():
    kind, first, *rest = checks.where()
    mode, wanted = checks.era()
    server = first if kind == "http" else StdioTransport(first, rest[0], env=dict(os.environ), keep_alive=False)
    peer = Peer(None)

    async def elicited(_message, _type, params, _context):
        if peer.answer(checks.question(params)):
            return ElicitResult(action="accept", content=checks.filled(params.requested_schema, True))
        return ElicitResult(action="decline")

    async with Client(server, mode=mode, elicitation_handler=elicited) as client:
        peer.client = client
        return await checks.run(peer, f"fastmcp-{kind}-{mode}", wanted)


sys.exit(1 if asyncio.run(main()) else 0)
