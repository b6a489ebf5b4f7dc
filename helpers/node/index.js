// Gives a test a command to run in place of an agent server: the first run
// records the real agent, later ones replay it and fail the test when the
// client diverges.
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { basename, delimiter, dirname, extname, join, resolve } from "node:path";
import { Agent, Diverged, recordMode } from "./agent.js";

export { Agent, Diverged };

/**
 * The recorded agent of a test. The first argument is what the runner gives to
 * a test: the context of node:test or vitest, which also ends the agent with
 * the test, or jest's expect; there, and without a runner, check() has to be
 * called (or `await using` used).
 */
export function agentrec(test, options = {}) {
  const { name, path, full, after, failed } = place(test);
  const base = path ? dirname(path) : process.cwd();
  const { dir = "sessions", extension = ".agentrec", record = "once", binary = "agentrec" } = options;
  if (!options.file && !name) throw new Error("agentrec: this test has no name; give the option file, or in vitest write test.for, which hands a context on, and not test.each");
  const file = options.file ? resolve(base, options.file) : resolve(base, dir, basename(path ?? "tests", extname(path ?? "")), fileName(name) + extension);
  if (!options.file && !full) claim(file, name);
  const agent = new Agent({
    file, binary: find(binary), record: recordMode(record), agent: options.command ?? [], args: options.args ?? [], patience: options.patience ?? 10_000,
  });
  after?.(async () => {
    if (failed()) await agent.setAside();
    try {
      await agent.end(!failed());
    } catch (error) {
      // What a test failed with hides what its hooks fail with.
      if (test.passed !== true) for (const line of error.message.split("\n")) test.diagnostic?.(line);
      throw error;
    }
  });
  return agent;
}

// find returns the path of a program: a client may look it up by another PATH.
function find(binary) {
  if (basename(binary) !== binary) return resolve(binary);
  const names = process.platform === "win32" ? [binary, `${binary}.exe`] : [binary];
  const found = (process.env.PATH ?? "").split(delimiter).flatMap((d) => names.map((n) => join(d, n))).find((p) => existsSync(p));
  if (!found) throw new Error(`agentrec: ${binary} was not found; install agentrec or give the option binary`);
  return found;
}

// place says what the runner knows of a test.
function place(test) {
  const task = test?.task; // vitest
  if (task) {
    const names = [];
    for (let at = task; at && at !== at.file; at = at.suite) names.unshift(at.name);
    return { name: names.join(" "), path: task.file?.filepath, full: true, after: test.onTestFinished, failed: () => task.result?.state === "fail" };
  }
  if (typeof test?.getState === "function") { // jest's expect
    const state = test.getState();
    return { name: state.currentTestName, path: state.testPath, full: true };
  }
  // node:test; an older one tells a test neither its file nor the suites it is in
  // Its hooks run in the order in which they were made, and the client's own end
  // comes first: a hook made by a hook is the last.
  const after = typeof test?.after === "function" ? (hook) => test.after(() => test.after(hook)) : undefined;
  return { name: test?.fullName ?? test?.name, path: test?.filePath ?? process.argv[1], full: test?.fullName !== undefined, after, failed: () => test.passed === false };
}

const claimed = new Map();

// claim refuses a second test of the same name in one process: the file of one
// must not become that of another.
function claim(file, name) {
  if (claimed.has(file)) throw new Error(`agentrec: two tests here are called "${name}"; give one of them the option file`);
  claimed.set(file, name);
}

// fileName is readable, and never that of another test.
function fileName(name) {
  if (/^[A-Za-z0-9.[\] -]{1,100}$/.test(name)) return name.replaceAll(" ", "_");
  const plain = name.replace(/[^A-Za-z0-9.[\]-]+/g, "_").slice(0, 100);
  return `${plain}-${createHash("sha256").update(name).digest("hex").slice(0, 8)}`;
}
