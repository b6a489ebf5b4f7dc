// A suite of jest that uses the helper; CHANGE says what its client does otherwise.
import { jest } from "@jest/globals";
import { agentrec } from "agentrec-node";

const { Client, echo } = await import(process.env.ECHO);
const change = process.env.CHANGE;
jest.setTimeout(30000);
let agent;
afterEach(() => agent.end());

describe("a greeting", () => {
  test.each(["one", "two"])("of %s", async (name) => {
    agent = agentrec(expect, { command: echo });
    const client = new Client(agent.command);
    const hello = await client.ask("hello", { name: change === "prompt" && name === "two" ? "nobody" : name });
    if (!change) expect(hello.params.name).toBe(name);
    if (change !== "less" || name !== "one") await client.ask("bye");
    await client.close();
  });
});
