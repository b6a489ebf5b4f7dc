// A client of phi's MCP mode: the tools, one run with a tool inside, an error.
//
// usage: node phi_mcp_client.mjs DIRECTORY PROMPT COMMAND ARGS...
//
// DIRECTORY is where the MCP SDK is installed. Prints what the client made of it.
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [directory, prompt, command, ...args] = process.argv.slice(2);
const require = createRequire(pathToFileURL(join(directory, "package.json")));
const load = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${name}`)).href);
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");

const show = (kind, value) => console.log(`${kind} ${JSON.stringify(value)}`);
const client = new Client({ name: "real", version: "1" }, { capabilities: {} });
client.onerror = () => {}; // phi's progress is not of MCP's shape, and the SDK says so
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "ignore" }));
try {
  show("server", client.getServerVersion());
  show("tools", (await client.listTools()).tools.map((tool) => tool.name));
  show("run", (await client.callTool({ name: "run", arguments: { prompt } })).content);
  await client.callTool({ name: "nosuch" }).then((result) => show("nosuch", result.isError), (error) => show("nosuch", error.code));
} finally {
  await client.close();
}
