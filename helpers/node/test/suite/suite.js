// A suite of somebody who uses the helper; STEPS says what its clients do.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { agentrec, Diverged } from "../../index.js";
import { Client, echo } from "./echo.js";

const dir = process.env.SESSIONS;
const does = (step) => (process.env.STEPS ?? "").split(",").includes(step);
const name = does("other") ? "me" : "you";

test("says hello", async (t) => {
  const agent = agentrec(t, { dir, command: echo, patience: Number(process.env.PATIENCE ?? 10000) });
  const client = new Client(agent.command);
  t.after(() => client.agent.kill());
  const hello = await client.ask("hello", { name });
  if (does("loud")) assert.equal(hello.params.name, name);
  if (!does("less")) await client.ask("bye");
  if (does("hook")) return t.after(() => client.close());
  if (does("broken")) {
    await client.close();
    assert.fail("broken");
  }
  if (does("kill")) client.agent.kill("SIGKILL");
  else await client.close();
  if (does("check")) await assert.rejects(agent.check(), Diverged);
});

test("has two: agents/paths", async (t) => {
  const first = agentrec(t, { dir, command: echo, args: ["--ignore", "params.when"] });
  const one = new Client([first.shim(), "more"]);
  const two = new Client(first.another("server").command);
  await one.ask("first", { when: Date.now() });
  await two.ask("second", { name: does("second") ? "me" : "you" });
  await Promise.all([one.close(), two.close()]);
});

if (does("idle")) {
  test("says hello to nobody", async (t) => {
    const agent = agentrec(t, { file: join(dir, "suite/says_hello.agentrec"), patience: 50 });
    assert.ok(agent.command.length > 1);
  });
}
