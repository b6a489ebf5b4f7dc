"""The run of mcp_client.mjs on MCP's Python SDK 1.x: another client's ids,
capabilities and order of keys in an otherwise equal conversation.

usage: mcp_client.py COMMAND ARGS...
"""

import asyncio
import sys

import mcp.types as types
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def sample(context, params):
    return types.CreateMessageResult(role="assistant", content=types.TextContent(type="text", text="sampled"), model="mock-model")


async def roots(context):
    return types.ListRootsResult(roots=[])


async def main():
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])
    async with stdio_client(server) as (read, write):
        async with ClientSession(read, write, sampling_callback=sample, list_roots_callback=roots) as session:
            await session.initialize()
            print("tools", len((await session.list_tools()).tools))
            await session.call_tool("echo", {"message": "hi"})
            await session.call_tool("get-sum", {"a": 1, "b": 2})

            async def progress(done, total, message):
                print("progress", done)

            await session.call_tool("trigger-long-running-operation", {"duration": 1, "steps": 3}, progress_callback=progress)
            await session.call_tool("trigger-sampling-request", {"prompt": "say it", "maxTokens": 5})
            await session.call_tool("nosuch", {})
            await session.list_prompts()
            await session.list_resources()


asyncio.run(main())
