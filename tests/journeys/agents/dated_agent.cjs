// Thirty prompts, each full of what no two runs have in common: times, ids, names, a key.
//
// `dated_agent.cjs [alone|workers|children]`: in one process, in three threads or three children.
"use strict";

const { fork } = require("node:child_process");
const { randomBytes, randomUUID } = require("node:crypto");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { Worker, isMainThread, workerData } = require("node:worker_threads");

const URL = "https://api.openai.com/v1/chat/completions";

function prompt(turn) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "dated-"));
  fs.rmdirSync(folder);
  return [
    `turn ${turn} at ${new Date().toISOString()}, ${Date.now()}, ${Date()}`,
    `id ${randomUUID()}, nonce ${Math.random()}, key ${randomBytes(16).toString("hex")}`,
    `folder ${folder}, files ${fs.readdirSync(__dirname)}`,
  ].join("\n");
}

async function ask(text) {
  const reply = await fetch(URL, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      "X-Request-Id": crypto.randomUUID(),
      Authorization: `Bearer ${process.env.OPENAI_API_KEY}`,
    },
    body: JSON.stringify({ model: "gpt-4.1-mini", messages: [{ role: "user", content: text }] }),
  });
  return (await reply.json()).choices[0].message.content;
}

async function turns(first, last) {
  for (let turn = first; turn < last; turn++) {
    const text = prompt(turn);
    // more is said here
    const answer = await ask(text);
    fs.writeSync(1, `${text}\n-> ${answer}\n`);
  }
}

function third(way, first) {
  if (way === "workers") return new Worker(__filename, { workerData: first });
  return fork(__filename, ["from", String(first)]);
}

async function main([way = "alone", first]) {
  if (way === "from") return turns(Number(first), Number(first) + 10);
  if (way === "alone") return turns(0, 30);
  for (const first of [0, 10, 20]) third(way, first).on("exit", (code) => (process.exitCode ||= code));
}

if (isMainThread) main(process.argv.slice(2));
else turns(workerData, workerData + 10);
