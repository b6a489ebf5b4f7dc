// A suite of vitest that uses the helper; CHANGE says what its client does otherwise.
import { afterEach, describe, expect, test } from "vitest";
import { agentrec } from "agentrec-node";

const { Client, echo } = await import(process.env.ECHO);
const change = process.env.CHANGE;
let open = [];
afterEach(async () => {
  for (const client of open) await client.close();
  open = [];
});

describe("a greeting", () => {
  test.concurrent.for(["one", "two", "three"])("of %s", async (name, context) => {
    const client = new Client(agentrec(context, { command: echo }).command);
    const hello = await client.ask("hello", { name: change === "prompt" && name === "two" ? "nobody" : name });
    if (!change) expect(hello.params.name).toBe(name);
    if (change !== "less" || name !== "one") await client.ask("bye");
    await client.close();
  });

  test("whose client ends in a hook", async (context) => {
    const client = new Client(agentrec(context, { command: echo }).command);
    open.push(client);
    await client.ask("hello", { name: change === "hook" ? "nobody" : "you" });
    if (change === "broken") expect(1).toBe(2);
  });
});
