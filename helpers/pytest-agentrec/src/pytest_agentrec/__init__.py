"""Test clients of agent servers against recorded sessions.

The fixture ``agentrec`` gives a test a command to run in place of the agent.
The first run records the real agent; later ones replay it, compare what the
client sends, and fail the test when that differs.
"""

from .agent import Agent, Diverged

__all__ = ["Agent", "Diverged"]
