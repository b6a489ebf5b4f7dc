import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, extname, join, sep } from "node:path";
import { setTimeout as later } from "node:timers/promises";

const modes = ["once", "always", "never"];

/** The client did something that the recording does not hold. */
export class Diverged extends Error {
  name = "Diverged";
}

/**
 * The mode that holds: AGENTREC_RECORD beats what the test says, and with CI set
 * it is never. It is decided here because a client may start its agent with an
 * environment of its own.
 */
export function recordMode(wanted) {
  const mode = process.env.AGENTREC_RECORD || wanted;
  if (!modes.includes(mode)) throw new Error(`agentrec: recording mode "${mode}" is not known; use ${modes.join(", ")}`);
  return ["", "false"].includes(process.env.CI ?? "") ? mode : "never";
}

/** Stands where the agent stands. */
export class Agent {
  #options;
  #directory; // for reports and shims, made when the agent is used
  #before; // the session's file when the test began
  #told = new Set(); // divergences that were reported already
  #others = new Map();

  constructor(options) {
    this.#options = options;
    this.file = options.file;
    this.#before = stamp(this.file);
  }

  get command() {
    const { binary, record, args, agent } = this.#options;
    this.#use();
    const reports = join(this.#directory, "reports") + sep;
    return [binary, "replay", this.file, "--record", record, "--report", reports, ...args, ...(agent.length ? ["--", ...agent] : [])];
  }

  shim({ drop, js = false } = {}) {
    const [binary, ...replay] = this.command;
    const path = join(this.#directory, js ? "agent.mjs" : "agent");
    // Without an agent to record from there is nobody to take arguments.
    const skip = drop ?? (this.#options.agent.length ? 0 : 99);
    const made = spawnSync(binary, ["shim", path, "--drop", String(skip), ...(js ? ["--js"] : []), "--", ...replay], { encoding: "utf8" });
    if (made.status !== 0) throw new Error(made.error?.message ?? made.stderr.trim());
    return path;
  }

  another(name, command = this.#options.agent) {
    if (this.#others.has(name)) throw new Error(`agentrec: this test has an agent "${name}" already`);
    const extension = extname(this.file);
    const file = join(dirname(this.file), `${basename(this.file, extension)}.${name}${extension}`);
    const other = new Agent({ ...this.#options, file, agent: command });
    this.#others.set(name, other);
    return other;
  }

  async check() {
    const problem = await this.#problem(true);
    if (problem) throw new Diverged(problem);
  }

  /** Checks this agent and the test's others, and removes what they needed. */
  async end(ended = true) {
    const problems = [];
    for (const agent of [this, ...this.#others.values()]) {
      const problem = await agent.#problem(ended);
      if (problem) problems.push(problem);
      if (agent.#directory) rmSync(agent.#directory, { recursive: true, force: true });
      agent.#directory = undefined;
    }
    if (problems.length) throw new Diverged(problems.join("\n"));
  }

  async [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]() {
    await this.end();
  }

  /**
   * Renames sessions that were recorded just now, by a test that failed: later
   * runs must not be held to them.
   */
  async setAside() {
    for (const agent of [this, ...this.#others.values()]) {
      const { file } = agent;
      if (!agent.#directory || agent.#before || (await agent.#finished()).length || !existsSync(file)) continue;
      const extension = extname(file), name = basename(file);
      for (const each of readdirSync(dirname(file))) {
        if (each !== name && !each.startsWith(name + "-")) continue;
        renameSync(join(dirname(file), each), join(dirname(file), `${basename(file, extension)}.failed${extension}${each.slice(name.length)}`));
      }
    }
  }

  #use() {
    const { record, agent } = this.#options;
    if (!this.#before && (record === "never" || !agent.length)) {
      const why = agent.length ? "nothing is recorded here (CI, or mode never)" : "there is no agent to record it from";
      throw new Error(`agentrec: ${this.file} does not exist and ${why}; give the option command and run this test once without CI`);
    }
    if (this.#directory) return;
    mkdirSync(dirname(this.file), { recursive: true });
    this.#directory = mkdtempSync(join(tmpdir(), "agentrec-"));
    mkdirSync(join(this.#directory, "reports"));
  }

  // #problem says what went wrong and was not said before. While the client
  // still runs (not ended), what it has not sent yet is no problem.
  async #problem(ended) {
    if (!this.#directory) return undefined;
    const reports = ended ? await this.#finished() : this.#read();
    if (!reports.length) return ended ? this.#unreplayed() : undefined;
    const found = [];
    for (const r of reports) {
      const entries = r.divergences.filter((e) => ended || e.kind !== "unsent");
      if (r.verdict !== "pass" && ended && !entries.length) found.push(`${r.process} fail`);
      for (const e of entries) found.push([r.process, e.kind, e.seq, e.live].join(" "));
    }
    const fresh = found.filter((f) => !this.#told.has(f));
    if (!fresh.length) return undefined;
    for (const f of fresh) this.#told.add(f);
    const said = spawnSync(this.#options.binary, ["report", "--quiet", join(this.#directory, "reports")], { encoding: "utf8" });
    return `the client did not do what ${this.file} holds\n${(said.stdout + said.stderr).trimEnd()}`;
  }

  #read() {
    const directory = join(this.#directory, "reports");
    return readdirSync(directory)
      .filter((name) => name.endsWith(".json") && !name.startsWith("."))
      .map((name) => JSON.parse(readFileSync(join(directory, name), "utf8")));
  }

  // #finished returns the reports when every replay has ended or patience has: a
  // client may have left without waiting for its agent.
  async #finished() {
    const until = Date.now() + this.#options.patience;
    for (;;) {
      const reports = this.#read();
      const over = reports.every((r) => r.state === "done" || !alive(r.process));
      // Without a report the session is being recorded, which is over when the
      // file is there, or the client has not got to start its agent.
      if ((over && (reports.length || stamp(this.file) !== this.#before)) || Date.now() > until) return this.#read();
      await later(20);
    }
  }

  #unreplayed() {
    if (stamp(this.file) !== this.#before) return undefined;
    if (this.#before) return "the client did not run the command that agentrec gave to the test";
    return `nothing was recorded into ${this.file}: the client did not run the command, or killed it; ` +
      "if it did, the next run takes what was recorded until then";
  }
}

function stamp(file) {
  const info = statSync(file, { throwIfNoEntry: false });
  return info && `${info.ino} ${info.mtimeMs} ${info.size}`;
}

// alive reports whether a process still runs; one that its parent has not waited
// for does not.
function alive(process_) {
  try {
    process.kill(process_, 0);
  } catch (error) {
    return error.code === "EPERM";
  }
  try {
    return !/^\s*Z/.test(readFileSync(`/proc/${process_}/stat`, "utf8").replace(/^.*\)/s, ""));
  } catch {
    return true;
  }
}
