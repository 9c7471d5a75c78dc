// Leaves a temporary folder behind, with something in it, and asks with its name.
import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "fs";
import { tmpdir } from "os";

const folder = mkdtempSync(`${tmpdir()}/left-`);
const before = readdirSync(folder);
writeFileSync(`${folder}/note.txt`, "something");
mkdirSync(`${folder}/more`);
const reply = await fetch("https://api.openai.com/v1/chat/completions", {
  method: "POST",
  headers: {
    "content-type": "application/json",
    authorization: `Bearer ${process.env.OPENAI_API_KEY}`,
  },
  body: JSON.stringify({
    model: "gpt-4.1-mini",
    messages: [{ role: "user", content: `${folder} ${before}` }],
  }),
});
console.log((await reply.json()).choices[0].message.content);
