"""The agent of one test: a command that records a session or replays it."""

import glob
import json
import os
import shlex
import subprocess
import time
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

MODES = ("once", "always", "never")

# What a client leaves undone counts only when it has ended; everything else
# that a report holds is final as soon as it stands there.
UNSENT = "unsent"


class Diverged(AssertionError):
    """The client did something that the recording does not hold."""


def record_mode(flag: str) -> str:
    """Returns the mode that holds: AGENTREC_RECORD beats the flag, and with CI
    set it is never. It is decided here because a client may start its agent
    with an environment of its own.
    """
    mode = os.environ.get("AGENTREC_RECORD") or flag
    if mode not in MODES:
        raise ValueError(f"recording mode {mode!r} is not known; use {', '.join(MODES)}")
    return "never" if os.environ.get("CI", "") not in ("", "false") else mode


class Agent:
    """Stands where the agent stands. Give ``command`` (or ``shim()``) to the
    client under test; it may run it in any way it likes.
    """

    def __init__(self, binary: str, file: Path, reports: Path, agent: Sequence[str] = (),
                 mode: str = "once", args: Sequence[str] = (), patience: float = 10.0):
        self.file = file
        self.reports = reports
        self.patience = patience  # seconds for a process of the client to end
        self.used = False
        self.told: set = set()  # divergences that have failed the test already
        self.others: List["Agent"] = []
        self._binary, self._agent, self._mode, self._args = binary, list(agent), mode, list(args)
        self._before = _stamp(file)

    @property
    def command(self) -> List[str]:
        """The program and arguments for the client to run as its agent."""
        self._use()
        return [self._binary, *self._arguments(), *(["--", *self._agent] if self._agent else [])]

    @property
    def line(self) -> str:
        """The same as one line for a shell."""
        return shlex.join(self.command)

    def shim(self, drop: Optional[int] = None, js: bool = False) -> str:
        """Returns the path of an executable, for clients that take no arguments
        (with ``js`` one for clients that run ``node PATH``). What the client
        appends goes to the recorded agent, less the first ``drop`` arguments.
        """
        self._use()
        path = self.reports.parent / ("agent.js" if js else "agent")
        # Without an agent to record from there is nobody to take arguments.
        skip = drop if drop is not None else 0 if self._agent else 99
        run = [self._binary, "shim", str(path), "--drop", str(skip), *(["--js"] if js else []), "--", *self.command[1:]]
        made = subprocess.run(run, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if made.returncode:
            raise RuntimeError(made.stderr.strip())
        return str(path)

    def another(self, name: str, *agent: str) -> "Agent":
        """A second agent of the same test, with a file of its own beside the
        first; ``agent`` is the command to record it from, the same by default.
        """
        if any(other.file.stem.endswith("." + name) for other in self.others):
            raise ValueError(f"this test has an agent {name!r} already")
        file = self.file.with_name(f"{self.file.stem}.{name}{self.file.suffix}")
        other = Agent(self._binary, file, self.reports.parent / name / "reports", agent or self._agent,
                      self._mode, self._args, self.patience)
        self.others.append(other)
        return other

    def check(self) -> None:
        """Waits for the client's processes to end and raises Diverged unless all
        went as recorded. The fixture does the same at the end of the test.
        """
        problem = self.problem(ended=True)
        if problem:
            raise Diverged(problem)

    def problem(self, ended: bool) -> Optional[str]:
        """Says what went wrong and was not said before. While the client still
        runs (not ``ended``), what it has not sent yet is no problem.
        """
        if not self.used:
            return None
        reports = self._finished() if ended else self._read()
        if not reports:
            return self._unreplayed() if ended else None
        new = set()
        for report in reports:
            entries = [e for e in report["divergences"] if ended or e["kind"] != UNSENT]
            if report["verdict"] != "pass" and ended and not entries:
                new.add((report["process"], "fail"))
            new.update((report["process"], e["kind"], e.get("seq"), e.get("live")) for e in entries)
        new -= self.told
        if not new:
            return None
        self.told |= new
        return f"the client did not do what {self.file} holds\n{self._said()}"

    def set_aside(self) -> None:
        """Renames a session that was recorded just now, by a test that failed:
        later runs must not be held to it.
        """
        if not self.used or self._before is not None or self._finished() or not self.file.exists():
            return
        for path in (self.file, *self.file.parent.glob(glob.escape(self.file.name) + "-*")):
            rest = path.name[len(self.file.name):]
            path.replace(self.file.with_name(f"{self.file.stem}.failed{self.file.suffix}{rest}"))

    def _use(self) -> None:
        if self._before is None and (self._mode == "never" or not self._agent):
            why = "nothing is recorded here (CI, or mode never)" if self._agent else "there is no agent to record it from"
            raise FileNotFoundError(f"{self.file} does not exist and {why}; name the agent's command in the setting "
                                    "agentrec_command and run this test once without CI")
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.reports.mkdir(parents=True, exist_ok=True)
        self.used = True

    def _arguments(self) -> List[str]:
        # Absolute: the client may start its agent in another directory.
        return ["replay", str(self.file.absolute()), "--record", self._mode, "--report", str(self.reports) + os.sep, *self._args]

    def _read(self) -> List[Dict[str, Any]]:
        out = []
        for path in sorted(self.reports.glob("*.json")):
            try:
                out.append(json.loads(path.read_text("utf-8")))
            except FileNotFoundError:
                continue
        return out

    def _finished(self) -> List[Dict[str, Any]]:
        """The reports when every replay has ended or patience has: a client may
        have left without waiting for its agent.
        """
        until = time.monotonic() + self.patience
        while True:
            reports = self._read()
            over = all(r["state"] == "done" or not _alive(r["process"]) for r in reports)
            # Without a report the session is being recorded, which is over when
            # the file is there, or the client has not got to start its agent.
            if over and (reports or _stamp(self.file) != self._before) or time.monotonic() > until:
                return self._read()
            time.sleep(0.02)

    def _unreplayed(self) -> Optional[str]:
        if _stamp(self.file) != self._before:
            return None
        if self._before is None:
            return (f"nothing was recorded into {self.file}: the client did not run the command, or killed it; "
                    "if it did, the next run takes what was recorded until then")
        return "the client did not run the command that the fixture agentrec gave to the test"

    def _said(self) -> str:
        out = subprocess.run([self._binary, "report", "--quiet", str(self.reports)], stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, encoding="utf-8", errors="replace", check=False)
        return (out.stdout + out.stderr).rstrip()


def _stamp(file: Path) -> Optional[tuple]:
    try:
        info = file.stat()
    except FileNotFoundError:
        return None
    return info.st_ino, info.st_mtime_ns, info.st_size


def _alive(process: int) -> bool:
    """Whether a process still runs; one that its parent has not waited for does
    not.
    """
    if os.name == "nt":
        return True  # a signal 0 would end it there
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    try:
        state = Path(f"/proc/{process}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        state = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], stdin=subprocess.DEVNULL,
                               capture_output=True, text=True, check=False).stdout.strip()
    return not state.startswith("Z")
