export interface Options {
  /** Command of the agent to record from. */
  command?: readonly string[];
  /** The session's file, seen from the test's file; by default it is named after the test. */
  file?: string;
  /** Directory of the sessions, seen from the test's file: "sessions". */
  dir?: string;
  /** ".agentrec" for text (default), ".db" for a database. */
  extension?: ".agentrec" | ".db";
  /** AGENTREC_RECORD beats it, and with CI set it is "never". Default: "once". */
  record?: "once" | "always" | "never";
  /** More arguments of agentrec replay, such as "--match", "shape". */
  args?: readonly string[];
  /** The agentrec to run; default: the one on PATH. */
  binary?: string;
  /** Milliseconds for the client's processes to end: 10000. */
  patience?: number;
}

/** What a runner gives to a test. */
export type Test =
  | { readonly name: string; after(hook: () => Promise<void>): void } // node:test
  | { readonly task: object; onTestFinished(hook: () => Promise<void>): void } // vitest
  | { getState(): { currentTestName?: string; testPath?: string } } // jest's expect
  | undefined;

/** Stands where the agent stands. */
export interface Agent extends AsyncDisposable {
  /** The session's file. */
  readonly file: string;
  /** The program and its arguments, for the client to run as its agent. */
  readonly command: [string, ...string[]];
  /**
   * Path of an executable, for clients that take no arguments, or with js run
   * "node PATH". What they append goes to the recorded agent, less the first
   * drop arguments.
   */
  shim(options?: { drop?: number; js?: boolean }): string;
  /** A second agent of the same test, with a file of its own. */
  another(name: string, command?: readonly string[]): Agent;
  /** Waits for the client's processes to end; rejects with Diverged unless all went as recorded. */
  check(): Promise<void>;
  /** check() for this agent and all others of the test, at its end. */
  end(): Promise<void>;
}

/** The client did something that the recording does not hold. */
export class Diverged extends Error {}

/**
 * The recorded agent of a test. With node:test and vitest the test fails by
 * itself when the client diverges; with jest, and without a runner, call end()
 * after the test.
 */
export function agentrec(test: Test, options?: Options): Agent;
