// A client on ACP's TypeScript SDK 2.4.0 that goes through the conversation of
// samples/acp.agentrec: files, permissions, terminals, answers out of order,
// cancelled turns and requests, two sessions at once, elicitation, history.
//
// usage: node acp_client.mjs DIRECTORY COMMAND ARGS...
//
// DIRECTORY is where the SDK is installed. CONVERSATION=hello makes it the short
// conversation of the example clients of ACP's SDKs instead. The working directory, the terminal
// ids and the timing are this run's own. Prints what the client made of it.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [directory, command, ...args] = process.argv.slice(2);
const require = createRequire(pathToFileURL(join(directory, "package.json")));
const acp = await import(pathToFileURL(require.resolve("@agentclientprotocol/sdk")).href);

const show = (kind, value) => console.log(`${kind} ${JSON.stringify(value)}`);
const later = (ms) => new Promise((done) => setTimeout(done, ms));
const cwd = process.cwd();
const hello = process.env.CONVERSATION === "hello";
const terminal = `term_${randomUUID()}`;
const counts = {};
let asked = () => {};
let release = () => {};

const child = spawn(command, args, { stdio: ["pipe", "pipe", "ignore"] });
const app = acp
  .client({ name: "rich-client" })
  .onNotification("session/update", ({ params }) => {
    const kind = params.update.sessionUpdate;
    counts[kind] = (counts[kind] ?? 0) + 1;
  })
  .onRequest("fs/read_text_file", async ({ params }) => {
    const name = params.path.startsWith(cwd + "/") ? params.path.slice(cwd.length + 1) : `not under ${cwd}: ${params.path}`;
    if (name === "a.txt") return { content: "hello ünïcode\nline2\n" };
    if (name === "y") throw acp.RequestError.resourceNotFound(params.path);
    if (name === "x") await later(60);
    if (name === "z") await later(30);
    return { content: name.toUpperCase() };
  })
  .onRequest("fs/write_text_file", () => ({}))
  .onRequest("session/request_permission", async ({ params }) => {
    asked();
    if (hello) return { outcome: { outcome: "selected", optionId: params.options[0].optionId } };
    if (await pendingCancel) return { outcome: { outcome: "cancelled" } };
    return { outcome: { outcome: "selected", optionId: "ok" } };
  })
  .onRequest("terminal/create", () => ({ terminalId: terminal }))
  .onRequest("terminal/output", ({ params }) => ({ output: params.terminalId === terminal ? "hi\n" : `unknown ${params.terminalId}`, truncated: false }))
  .onRequest("terminal/wait_for_exit", () => ({ exitCode: 0, signal: null }))
  .onRequest("terminal/release", () => ({}))
  .onRequest("elicitation/create", () => ({ action: "accept", content: { name: "bob" } }));
let pendingCancel = Promise.resolve(false);

await app.connectWith(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), async (agent) => {
  const failure = (error) => ({ code: error.code, message: error.message });
  const request = (method, params, options) => agent.request(method, params, options).catch(failure);
  const prompt = async (sessionId, text) => show(text, await request("session/prompt", { sessionId, prompt: [{ type: "text", text }] }));

  const { agentInfo } = await agent.request("initialize", {
    protocolVersion: 1,
    clientInfo: { name: "rich-client", version: "0" },
    clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true, elicitation: { form: {} } },
    _meta: { traceparent: "00-cccccccccccccccccccccccccccccccc-dddddddddddddddd-01" },
  });
  show("agent", agentInfo?.name);
  const { sessionId: a } = await agent.request("session/new", { cwd, mcpServers: [] });
  if (hello) return prompt(a, "Hello, agent!");
  await prompt(a, "tools");
  await prompt(a, "terminal");
  await prompt(a, "parallel");
  show("mode", await request("session/set_mode", { sessionId: a, modeId: "code" }));
  show("option", (await request("session/set_config_option", { sessionId: a, configId: "model", value: "big" })).configOptions?.[0].currentValue);

  const permission = new Promise((resolve) => (asked = resolve));
  pendingCancel = new Promise((resolve) => (release = resolve));
  const turn = prompt(a, "cancel");
  await permission;
  await agent.notify("session/cancel", { sessionId: a });
  release(true);
  await turn;
  pendingCancel = Promise.resolve(false);

  await prompt(a, "error");
  const stop = new AbortController();
  const echo = request("_example.dev/echo", { wait: 5000 }, { cancellationSignal: stop.signal });
  stop.abort();
  show("cancelled", await echo);
  show("echo", await request("_example.dev/echo", { a: 1, z: [1, 2.5, 1000] }));
  await agent.notify("_example.dev/note", { hi: 1 });
  show("unknown", await request("nope/nothing", {}));

  const { sessionId: b } = await agent.request("session/new", { cwd, mcpServers: [] });
  await Promise.all([prompt(a, "slowA"), prompt(b, "slowB")]);
  await prompt(a, "ask");
  show("sessions", (await request("session/list", {})).sessions?.length);
  show("load", await request("session/load", { sessionId: b, cwd, mcpServers: [] }));
  show("close", await request("session/close", { sessionId: b }));
});
child.stdin.end();
const status = await new Promise((resolve) => child.on("exit", (code, signal) => resolve(code ?? signal)));
show("updates", counts);
show("status", status);
