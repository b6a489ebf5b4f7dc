// OpenAI's and Anthropic's SDKs for Node against the API at BASE.
//
//   node llm_client.mjs MODULES BASE CONTROL
//
// Prints what came over HTTP, read by read, and what the SDK made of it. After
// each read the model at CONTROL is told, so that it sends the next piece.
import { createRequire } from "node:module";
import { join } from "node:path";

const [modules, base, control] = process.argv.slice(2);
const require = createRequire(join(modules, "package.json"));
const OpenAI = require("openai").default ?? require("openai");
const Anthropic = require("@anthropic-ai/sdk").default ?? require("@anthropic-ai/sdk");

const say = (...what) => console.log(JSON.stringify(what));

async function seen(url, init) {
  const answer = await fetch(url, init);
  const header = [...answer.headers].filter(([name]) => !["date", "connection", "keep-alive"].includes(name));
  say("answer", answer.status, header);
  if (!answer.body) return answer;
  const streamed = (answer.headers.get("content-type") ?? "").includes("event-stream");
  const reader = answer.body.getReader();
  const body = new ReadableStream({
    async pull(to) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          say("end");
          return to.close();
        }
        say("piece", Buffer.from(value).toString("latin1"));
        if (streamed) await (await fetch(`${control}/ack`)).text();
        to.enqueue(value);
      } catch (error) {
        say("broke off", error.name);
        to.error(error);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  }, { highWaterMark: 0 });
  return new Response(body, { status: answer.status, headers: answer.headers });
}

async function attempt(name, run) {
  say("case", name);
  try {
    for await (const result of await run()) say("got", result);
  } catch (error) {
    say("error", error.constructor.name, error.status ?? null, error.message);
  }
}

const chat = new OpenAI({ apiKey: "sk-test-0123456789abcdef", baseURL: `${base}/v1`, fetch: seen });
const claude = new Anthropic({ apiKey: "sk-ant-test-0123456789", baseURL: base, fetch: seen });
const messages = [{ role: "user", content: "Grüße" }];

for (const model of ["plain", "busy"])
  await attempt(`chat ${model}`, async () => [await chat.chat.completions.create({ model: `${model}@js`, messages })]);
for (const model of ["stream", "busy", "error", "cut", "fail"])
  await attempt(`chat stream ${model}`, () => chat.chat.completions.create({ model: `${model}@js`, messages, stream: true, stream_options: { include_usage: true } }));
for (const model of ["stream", "error", "cut"])
  await attempt(`responses stream ${model}`, () => chat.responses.create({ model: `${model}@js`, input: "Grüße", stream: true }));
await attempt("messages plain", async () => [await claude.messages.create({ model: "plain@js", max_tokens: 9, messages })]);
for (const model of ["stream", "overloaded", "error", "cut"])
  await attempt(`messages stream ${model}`, () => claude.messages.create({ model: `${model}@js`, max_tokens: 9, messages, stream: true }));
