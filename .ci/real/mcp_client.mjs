// A run of the MCP SDK's client: tools with progress and sampling, prompts,
// resources, a cancelled call, an error.
//
// usage: node mcp_client.mjs DIRECTORY COMMAND ARGS...
//
// DIRECTORY is where the SDK is installed. CANCEL=no leaves out the cancelled
// call, which mcp_client.py does not make. Prints what the client made of it.
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [directory, command, ...args] = process.argv.slice(2);
const require = createRequire(pathToFileURL(join(directory, "package.json")));
const load = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${name}`)).href);
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { CreateMessageRequestSchema, ListRootsRequestSchema } = await load("types.js");

const show = (kind, value) => console.log(`${kind} ${JSON.stringify(value)}`);
const client = new Client({ name: "real", version: "1" }, { capabilities: { sampling: {}, roots: {} } });
client.setRequestHandler(CreateMessageRequestSchema, () => ({
  model: "mock-model", role: "assistant", content: { type: "text", text: process.env.SAMPLED ?? "sampled" },
}));
client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [] }));

await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "ignore" }));
try {
  show("server", client.getServerVersion().name);
  show("tools", (await client.listTools()).tools.map((tool) => tool.name).sort());
  const call = async (name, args, options) => show(name, (await client.callTool({ name, arguments: args }, undefined, options)).content);
  await call("echo", { message: process.env.MESSAGE ?? "hi" });
  await call("get-sum", { a: 1, b: 2 });
  let steps = 0;
  await call("trigger-long-running-operation", { duration: 1, steps: 3 }, { onprogress: () => steps++ });
  show("progress", steps > 0);
  await call("trigger-sampling-request", { prompt: "say it", maxTokens: 5 });
  if (process.env.CANCEL !== "no") {
    const stop = new AbortController();
    const cancelled = client.callTool({ name: "trigger-long-running-operation", arguments: { duration: 20, steps: 2 } }, undefined, { signal: stop.signal });
    stop.abort("enough");
    await cancelled.catch((error) => show("cancelled", String(error.message ?? error).includes("enough")));
  }
  await client.callTool({ name: "nosuch", arguments: {} }).then((result) => show("nosuch", result.isError), (error) => show("nosuch", error.code));
  show("prompts", (await client.listPrompts()).prompts.length);
  show("resources", (await client.listResources()).resources.length > 0);
} finally {
  await client.close();
}
