// An agent that answers each request with what it was asked, and a client of it
// that keeps quiet about errors.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export const echo = ["node", fileURLToPath(import.meta.url)];

export class Client {
  #n = 0;

  constructor([command, ...args]) {
    this.agent = spawn(command, args, { stdio: ["pipe", "pipe", "ignore"] });
    this.lines = createInterface({ input: this.agent.stdout })[Symbol.asyncIterator]();
  }

  async ask(method, params = {}) {
    this.agent.stdin.write(JSON.stringify({ jsonrpc: "2.0", id: ++this.#n, method, params }) + "\n");
    const { value } = await this.lines.next();
    return value && JSON.parse(value).result;
  }

  async close() {
    this.agent.stdin.end();
    await once(this.agent, "exit");
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.env.RUNS) appendFileSync(process.env.RUNS, "run\n");
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, method, params } = JSON.parse(line);
    console.log(JSON.stringify({ jsonrpc: "2.0", id, result: { method, params } }));
  }
}
