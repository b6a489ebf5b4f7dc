"""The phi SDK on a recorded agent, as a suite of its users would have it.

PHI_CHANGE names one thing that the client does otherwise than when it was
recorded; the test must fail by it then.
"""

import asyncio
import os

import pytest

phi_agent = pytest.importorskip("phi_agent")
change = os.environ.get("PHI_CHANGE", "")


@phi_agent.tool
async def get_weather(city: str) -> str:
    """Look up the weather of a city."""
    return "30 °C" if change == "result" else f"{city}: 4 °C, light rain"


@phi_agent.tool
async def count_words(text: str) -> str:
    """Count words."""
    return str(len(text.split()))


async def talk():
    agent = phi_agent.Agent(model="mock-model", api_key="sk-real-0123456789abcdefghij", base_url="http://127.0.0.1:1/v1")
    tools = [get_weather] if change == "tool" else [get_weather, count_words]
    for tool in reversed(tools) if change == "order" else tools:
        agent.register(tool)
    text = ""
    try:
        await agent.create_session("other" if change == "session" else "weather")
        if change == "extra":
            await agent.create_session("more")
        await agent.list_tools()
        if change != "early":
            query = "What is the weather in Rome?" if change == "prompt" else "What is the weather in Oslo?"
            async for event in agent.run(query, session_id="other" if change == "session" else "weather"):
                text += event.type + "\n"
    except Exception:  # a client that makes nothing of its agent's errors
        pass
    finally:
        await agent.close()
    return text


def test_weather(agentrec, monkeypatch):
    monkeypatch.setenv("PHI_PATH", agentrec.shim(drop=9))
    text = asyncio.run(asyncio.wait_for(talk(), 20))
    if not change:
        assert "toolCallFinished" in text
