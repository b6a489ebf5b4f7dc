import shutil
import textwrap

import pytest

pytest_plugins = "pytester"

# An agent that answers each request with what it was asked, and a client of it.
PROGRAMS = '''
    import json, subprocess, sys

    class Client:
        """Speaks JSON-RPC to the command that it is given, and keeps quiet about errors."""

        def __init__(self, command):
            self.agent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                          stderr=subprocess.DEVNULL, text=True)
            self.n = 0

        def send(self, method, params=None):
            self.n += 1
            frame = {"jsonrpc": "2.0", "id": self.n, "method": method, "params": params or {}}
            self.agent.stdin.write(json.dumps(frame) + "\\n")
            self.agent.stdin.flush()

        def ask(self, method, **params):
            self.send(method, params)
            line = self.agent.stdout.readline()
            return json.loads(line).get("result") if line else None

        def close(self):
            self.agent.stdin.close()
            self.agent.stdout.read()
            self.agent.wait()

    if __name__ == "__main__":
        open(__file__ + ".runs", "a").write("run\\n")
        for line in sys.stdin:
            frame = json.loads(line)
            answer = {"jsonrpc": "2.0", "id": frame["id"], "result": {"method": frame["method"], "params": frame["params"]}}
            print(json.dumps(answer), flush=True)
'''


class Suite:
    """A test suite of somebody who uses the plugin."""

    def __init__(self, pytester):
        self.pytester = pytester
        self.path = pytester.path
        (self.path / "echo.py").write_text(textwrap.dedent(PROGRAMS))
        pytester.makeini('[pytest]\nagentrec_command = python3 echo.py\npythonpath = .\n')

    def write(self, text, name="test_it"):
        self.pytester.makepyfile(**{name: "import pytest\nfrom echo import Client\n" + textwrap.dedent(text)})

    def run(self, *args, passed=0, failed=0, errors=0):
        result = self.pytester.runpytest_subprocess("-p", "no:cacheprovider", *args)
        result.assert_outcomes(passed=passed, failed=failed, errors=errors)
        return result

    def agent_runs(self):
        runs = self.path / "echo.py.runs"
        return runs.read_text().count("run") if runs.exists() else 0

    def sessions(self):
        return sorted(p.relative_to(self.path / "sessions").as_posix() for p in (self.path / "sessions").rglob("*") if p.is_file())


@pytest.fixture
def suite(pytester, monkeypatch):
    assert shutil.which("agentrec"), "these tests need agentrec on PATH"
    for name in ("CI", "AGENTREC_RECORD", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    return Suite(pytester)
