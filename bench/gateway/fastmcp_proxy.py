"""FastMCP's proxy as its documentation makes it. usage: python fastmcp_proxy.py MODE PORT TARGET…

MODE is `url` (a client for each request), `shared` (one connected client for all), both in front of a URL, or `stdio` (a child
that is kept alive, in front of a command line).
"""

import asyncio
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.server import create_proxy

mode, port, *target = sys.argv[1:]


async def serve(backend):
    proxy = create_proxy(backend, name="proxy")
    await proxy.run_async(transport="http", host="127.0.0.1", port=int(port), log_level="error", show_banner=False)


async def main():
    if mode == "url":
        await serve(target[0])
    elif mode == "stdio":
        await serve(StdioTransport(target[0], target[1:], keep_alive=True))
    else:
        async with Client(target[0]) as client:
            await serve(client)


asyncio.run(main())
