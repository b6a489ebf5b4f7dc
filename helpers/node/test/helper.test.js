// Each test runs the suite beside it in a node --test of its own.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { agentrec } from "../index.js";

const suite = fileURLToPath(new URL("suite/suite.js", import.meta.url));

function start(t) {
  const home = mkdtempSync(join(tmpdir(), "agentrec-helper-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const run = (steps = "", env = {}) => {
    const clean = { ...process.env };
    for (const name of ["CI", "AGENTREC_RECORD", "NODE_TEST_CONTEXT", "GITHUB_ACTIONS"]) delete clean[name];
    const { status, stdout } = spawnSync(process.execPath, ["--test", "--test-reporter=tap", suite], {
      encoding: "utf8",
      env: { ...clean, SESSIONS: join(home, "sessions"), RUNS: join(home, "runs"), STEPS: steps, ...env },
    });
    return { status, stdout, failed: [...stdout.matchAll(/^\s*not ok \d+ - (.*?)$/gm)].map((m) => m[1]).filter((n) => !n.endsWith("suite.js")) };
  };
  const runs = () => (existsSync(join(home, "runs")) ? readFileSync(join(home, "runs"), "utf8").length / "run\n".length : 0);
  const sessions = () => readdirSync(join(home, "sessions/suite")).sort();
  return { run, runs, sessions };
}

function passes(result) {
  assert.equal(result.status, 0, result.stdout);
}

function fails(result, test, pattern) {
  assert.deepEqual(result.failed, [test], result.stdout);
  assert.match(result.stdout, pattern);
}

test("records once, then replays without the agent", (t) => {
  const { run, runs, sessions } = start(t);
  passes(run());
  assert.equal(runs(), 3);
  const files = sessions();
  assert.equal(files.length, 3);
  assert.equal(files[2], "says_hello.agentrec");
  assert.match(files[0], /^has_two_agents_paths-[0-9a-f]{8}\.agentrec$/);
  assert.equal(files[1], files[0].replace(".agentrec", ".server.agentrec"));
  passes(run());
  passes(run("", { CI: "true", AGENTREC_RECORD: "always" }));
  assert.equal(runs(), 3);
  passes(run("", { AGENTREC_RECORD: "always" }));
  assert.equal(runs(), 6);
});

test("a client that diverges fails its test, however quiet it is", (t) => {
  const { run, runs } = start(t);
  passes(run());
  fails(run("other"), "says hello", /recorded +"you"\s+live +"me"/);
  fails(run("other,kill"), "says hello", /live +"me"/);
  fails(run("other,loud"), "says hello", /Cannot read properties of undefined[^]*# +live +"me"/);
  fails(run("less"), "says hello", /the client did not send bye/);
  fails(run("less,kill"), "says hello", /the replay was ended/);
  fails(run("second"), "has two: agents/paths", /live +"me"/);
  fails(run("idle"), "says hello to nobody", /did not run the command/);
  passes(run("kill"));
  passes(run("hook"));
  fails(run("less,hook"), "says hello", /the client did not send bye/);
  passes(run("less,check"));
  assert.equal(runs(), 3);
});

test("what a client records that kills its agent is there in the next run", (t) => {
  const { run, runs } = start(t);
  fails(run("kill", { PATIENCE: "300" }), "says hello", /nothing was recorded into .*the next run takes what was recorded/);
  assert.equal(runs(), 3);
  passes(run("kill"));
  fails(run("other,kill"), "says hello", /live +"me"/);
  assert.equal(runs(), 3);
});

test("what a failing test records is set aside where the runner tells", (t) => {
  const { run, sessions } = start(t);
  assert.deepEqual(run("broken").failed, ["says hello"]);
  const tells = t.passed !== undefined; // newer versions of Node
  assert.equal(sessions().at(-1), tells ? "says_hello.failed.agentrec" : "says_hello.agentrec");
});

test("records nothing under CI, nor in an unknown mode", (t) => {
  const { run, runs } = start(t);
  assert.match(run("", { CI: "1" }).stdout, /says_hello\.agentrec does not exist and nothing is recorded here/);
  assert.match(run("", { AGENTREC_RECORD: "sometimes" }).stdout, /"sometimes" is not known; use once, always, never/);
  assert.equal(runs(), 0);
});

test("names files by the test, for every runner, and never twice the same", () => {
  const file = (test) => agentrec(test, { record: "once", binary: process.execPath }).file;
  const vitest = (name, suite) => ({ task: { name, suite: { name: suite }, file: { filepath: "/p/a.test.ts" } }, onTestFinished() {} });
  assert.equal(file(vitest("b", "a")), "/p/sessions/a.test/a_b.agentrec");
  assert.equal(file({ getState: () => ({ currentTestName: "a b", testPath: "/p/x.js" }) }), "/p/sessions/x/a_b.agentrec");
  const names = ["a b", "a-b", "a/b", "a  b", "a -b", "a_b", "x".repeat(200), "x".repeat(201)].map((name) => file(vitest(name, "s")));
  assert.equal(new Set(names.map((n) => n.toLowerCase())).size, names.length, names.join("\n"));
  assert.throws(() => [file({ name: "twice" }), file({ name: "twice" })], /two tests here are called "twice"/);
  assert.throws(() => agentrec({ name: "x" }, { binary: "no-such-agentrec" }), /no-such-agentrec was not found/);
  assert.throws(() => file(undefined), /give the option file/);
});
