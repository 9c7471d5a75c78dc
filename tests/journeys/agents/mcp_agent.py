"""Calls one tool of an MCP server three times, with the Python SDK."""

import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(command, tool, arguments):
    server = StdioServerParameters(command=command[0], args=command[1:])
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        print(sorted(tool.name for tool in (await session.list_tools()).tools))
        for _ in range(3):
            print((await session.call_tool(tool, arguments)).content)


asyncio.run(main(json.loads(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])))
