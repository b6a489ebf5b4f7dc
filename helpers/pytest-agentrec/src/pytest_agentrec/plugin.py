"""The fixture, its settings, and how a divergence fails the test."""

import hashlib
import re
import shutil
from pathlib import Path
from typing import Any, Generator, Iterator, List

import pytest

from .agent import MODES, Agent, record_mode

_AGENT = pytest.StashKey[Agent]()
_FAILED = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("agentrec", "recorded agents")
    group.addoption("--agentrec-record", choices=MODES, default=None,
                    help="record a missing session once (default), always, or never; AGENTREC_RECORD beats it")
    group.addoption("--agentrec-binary", default=None, metavar="PATH", help="the agentrec to run; default: the one on PATH")
    parser.addini("agentrec_record", "once, always or never", default="once")
    parser.addini("agentrec_binary", "the agentrec to run", default="agentrec")
    parser.addini("agentrec_command", "command of the agent to record from", type="args", default=[])
    parser.addini("agentrec_args", "more arguments of agentrec replay, such as --match shape", type="args", default=[])
    parser.addini("agentrec_dir", "directory of the sessions, seen from the test's file", default="sessions")
    parser.addini("agentrec_extension", ".agentrec for text, .db for a database", default=".agentrec")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "agentrec(command=None, file=None, args=()): the agent to record from, the session's "
                                       "file, and more arguments of agentrec replay")


@pytest.fixture
def agentrec(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """The recorded agent of this test: give ``agentrec.command`` to the client."""
    config = request.config
    named = config.getoption("--agentrec-binary") or config.getini("agentrec_binary")
    binary = shutil.which(named)
    if binary is None:
        pytest.fail(f"{named} was not found; install agentrec or name it with --agentrec-binary", pytrace=False)
    try:
        mode = record_mode(config.getoption("--agentrec-record") or config.getini("agentrec_record"))
    except ValueError as error:
        pytest.fail(str(error), pytrace=False)
    command, file, args = list(config.getini("agentrec_command")), None, list(config.getini("agentrec_args"))
    for marker in reversed(list(request.node.iter_markers("agentrec"))):  # the nearest is the last
        command = list(marker.kwargs.get("command") or command)
        file = marker.kwargs.get("file") or file
        args += marker.kwargs.get("args", ())
    base = Path(request.node.path).parent
    path = base / file if file else _file(request.node, base / config.getini("agentrec_dir"), config.getini("agentrec_extension"))
    agent = Agent(binary, path, tmp_path_factory.mktemp("agentrec") / "reports", command, mode, args)
    request.node.stash[_AGENT], request.node.stash[_FAILED] = agent, False
    yield agent
    failed = request.node.stash[_FAILED]
    # A test that failed by itself has most often left its client half way.
    problems = _problems(agent, ended=not failed)
    if failed:
        for each in (agent, *agent.others):
            each.set_aside()
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


def _problems(agent: Agent, ended: bool) -> List[str]:
    return [p for a in (agent, *agent.others) if (p := a.problem(ended))]


def _file(node: Any, directory: Path, extension: str) -> Path:
    """The file of a test: readable, and never that of another test."""
    name = node.nodeid.split("::", 1)[-1].replace("::", ".")
    plain = re.sub(r"[^A-Za-z0-9_.\[\]-]+", "-", name)[:100]
    if plain != name:
        plain += "-" + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return directory / Path(node.path).stem / (plain + extension)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    try:
        result = yield
    except BaseException:
        agent = item.stash.get(_AGENT, None)
        if agent is not None:
            item.stash[_FAILED] = True
            problems = _problems(agent, ended=False)
            if problems:
                item.add_report_section("call", "agentrec", "\n".join(problems))
        raise
    agent = item.stash.get(_AGENT, None)
    problems = _problems(agent, ended=False) if agent is not None else []
    if problems:
        item.stash[_FAILED] = True
        pytest.fail("\n".join(problems), pytrace=False)
    return result
