"""A run of the phi SDK as its users write it: one tool, two queries.

PHI_PATH names the agent; ANSWER is what the tool says instead of the weather;
SESSION and QUERIES (a line each) make another conversation of it. Prints what the SDK made of it, one JSON line an
event, without what differs between two runs of the same agent by itself.
"""

import asyncio
import json
import os

from phi_agent import Agent, tool


@tool
async def get_weather(city: str) -> str:
    """Look up the weather of a city."""
    return os.environ.get("ANSWER", f"{city}: 4 °C, light rain")


async def main():
    agent = Agent(model="mock-model", api_key="sk-real-0123456789abcdefghij", base_url="http://127.0.0.1:1/v1")
    agent.register(get_weather)
    session = os.environ.get("SESSION", "weather")
    queries = os.environ.get("QUERIES", "Say hello\nWhat is the weather in Oslo?").split("\n")
    try:
        print(json.dumps(await agent.create_session(session)))
        print(json.dumps(sorted(t["name"] for t in await agent.list_tools())))
        for query in queries:
            async for event in agent.run(query, session_id=session):
                print(json.dumps({"type": event.type, "data": event.data}, ensure_ascii=False))
    finally:
        await agent.close()


asyncio.run(main())
