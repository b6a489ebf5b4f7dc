// A client on ACP's TypeScript SDK, played the recorded sample of the project's
// own: initialize, a session, a turn with tools. ACP_SDK is where the SDK is
// installed. The sample goes on after that, so what is not sent is allowed.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { agentrec } from "../index.js";

const require = createRequire(pathToFileURL(join(process.env.ACP_SDK, "package.json")));
const acp = await import(pathToFileURL(require.resolve("@agentclientprotocol/sdk")).href);
const file = fileURLToPath(new URL("../../../samples/acp.agentrec", import.meta.url));

test("a turn of the sample", async (t) => {
  const [command, ...args] = agentrec(t, { file, args: ["--allow-unsent"] }).command;
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "ignore"] });
  let updates = 0;
  const app = acp
    .client({ name: "rich-client" })
    .onNotification("session/update", () => { updates++; })
    .onRequest("fs/read_text_file", () => ({ content: process.env.ACP_CHANGE === "result" ? "other" : "hello ünïcode\nline2\n" }))
    .onRequest("fs/write_text_file", () => ({}))
    .onRequest("session/request_permission", () => ({ outcome: { outcome: "selected", optionId: "ok" } }));
  await app.connectWith(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), async (agent) => {
    await agent.request("initialize", {
      protocolVersion: 1,
      clientInfo: { name: "rich-client", version: "0" },
      clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true, elicitation: { form: {} } },
      _meta: { traceparent: "00-cccccccccccccccccccccccccccccccc-dddddddddddddddd-01" },
    });
    const { sessionId } = await agent.request("session/new", { cwd: process.cwd(), mcpServers: [] });
    const text = process.env.ACP_CHANGE === "prompt" ? "utensils" : "tools";
    const answer = await agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] }).catch(() => undefined);
    if (!process.env.ACP_CHANGE) assert.equal(answer.stopReason, "end_turn");
  });
  child.stdin.end();
  await new Promise((done) => child.on("exit", done));
  if (!process.env.ACP_CHANGE) assert.ok(updates > 0);
});
