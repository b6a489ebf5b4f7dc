// A run of pi's own RpcClient: a tool call and a text, then some requests.
//
// usage: node pi_client.mjs PACKAGE CLI [PROMPT]
//
// PACKAGE is the directory of the installed pi package, CLI the script that the
// client starts with node. CONVERSATION=note makes it the conversation of
// samples/pi.agentrec, which another client recorded. Prints what the client made of it, one line an
// event, without what differs between two runs of the same agent by itself.
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [directory, cliPath, prompt = "Make a listing of the directory"] = process.argv.slice(2);
const { RpcClient } = await import(pathToFileURL(join(directory, "dist/modes/rpc/rpc-client.js")).href);

const client = new RpcClient({
  cliPath,
  provider: "mock",
  model: "mock-model",
  args: "--no-session --no-extensions --no-skills --no-context-files --no-prompt-templates --no-themes".split(" "),
});
const show = (kind, value) => console.log(`${kind} ${JSON.stringify(value)}`);

let text = "";
client.onEvent((event) => {
  const inner = event.assistantMessageEvent;
  if (inner?.type === "text_delta") text += inner.delta;
  else if (event.type === "tool_execution_end") show(event.type, [event.toolName, event.result.content, event.isError]);
  else if (event.type !== "message_update") show(event.type, inner?.type ?? "");
});

await client.start();
try {
  const state = await client.getState();
  show("state", [state.model?.id, state.thinkingLevel, state.messageCount]);
  if (process.env.CONVERSATION === "note") {
    await client.promptAndWait("Show me note.txt. MOCK:bash:cat_note.txt", undefined, 20000);
    await client.getSessionStats();
  } else {
    await client.setSessionName("listing");
    await client.promptAndWait(prompt, undefined, 20000);
    await client.promptAndWait("Say hello", undefined, 20000);
  }
  show("text", text);
  show("last", await client.getLastAssistantText());
  if (process.env.CONVERSATION !== "note") show("messages", (await client.getMessages()).map((message) => message.role));
} finally {
  await client.stop();
}
