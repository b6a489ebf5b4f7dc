// What users write with types, for tsc: every runner's way to the helper.
import { test } from "node:test";
import { expect as jestExpect } from "@jest/globals";
import { test as vitest } from "vitest";
import { agentrec, Diverged, type Agent, type Options } from "agentrec-node";

const options: Options = { command: ["phi", "serve"], dir: "sessions", extension: ".db", record: "never", args: ["--match", "shape"], patience: 1 };

test("node", async (t) => {
  const [command, ...args]: string[] = agentrec(t, options).command;
  console.log(command, args);
});
vitest("vitest", async (context) => {
  const agent: Agent = agentrec(context);
  console.log(agent.shim({ js: true }), agent.another("server", ["x"]).file);
});

export async function alone(): Promise<boolean> {
  await using agent = agentrec(undefined, { file: "x.agentrec" });
  agentrec(jestExpect, options);
  try {
    await agent.check();
    await agent.end();
  } catch (error) {
    return error instanceof Diverged && error.message !== "";
  }
  // @ts-expect-error a mode that does not exist
  agentrec(undefined, { record: "sometimes" });
  return false;
}
