// Thirty prompts, each full of what no two runs have in common, by a module with named imports.
import { randomBytes, randomUUID } from "node:crypto";
import { mkdtempSync, readdirSync, rmdirSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";

const URL = "https://api.openai.com/v1/chat/completions";

async function prompt(turn) {
  const folders = [mkdtempSync(`${tmpdir()}/dated-`), await mkdtemp(`${tmpdir()}/dated-`)];
  for (const folder of folders) rmdirSync(folder);
  const today = new Intl.DateTimeFormat("en", { dateStyle: "full", timeStyle: "long" }).format();
  return [
    `turn ${turn} at ${new Date().toISOString()}, ${Date.now()}, ${Date()}, ${today}`,
    `id ${randomUUID()}, nonce ${Math.random()}, key ${randomBytes(16).toString("hex")}`,
    `folders ${folders}, files ${readdirSync(import.meta.dirname ?? ".")}`,
  ].join("\n");
}

async function ask(text) {
  const reply = await fetch(URL, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Authorization: `Bearer ${process.env.OPENAI_API_KEY}`,
    },
    body: JSON.stringify({ model: "gpt-4.1-mini", messages: [{ role: "user", content: text }] }),
  });
  return (await reply.json()).choices[0].message.content;
}

for (let turn = 0; turn < 30; turn++) {
  const text = await prompt(turn);
  // more is said here
  const answer = await ask(text);
  console.log(`${text}\n-> ${answer}`);
}
