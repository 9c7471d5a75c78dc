// An agent whose child writes beside its folder; its prompt holds what is there afterwards.
import { execSync } from "child_process";
import { existsSync, readFileSync, writeFileSync } from "fs";

async function ask(content) {
  const reply = await fetch("https://api.openai.com/v1/chat/completions", {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${process.env.OPENAI_API_KEY}`,
    },
    body: JSON.stringify({ model: "gpt-4.1-mini", messages: [{ role: "user", content }] }),
  });
  return (await reply.json()).choices[0].message.content;
}

const [kind, place] = process.argv.slice(2);
const written = `${place}/result.txt`;
const program = `import { createWriteStream } from "fs";
const file = createWriteStream(${JSON.stringify(written)});
file.end("42\\n", () => console.log("done"));`;
writeFileSync("program.mjs", program);
const said = execSync(
  kind === "shell" ? `expr 6 '*' 7 > ${written}; cat ${written}` : `${process.execPath} program.mjs`,
);
const there = existsSync(written) ? readFileSync(written) : "and nothing more";
console.log(await ask(`${said}, ${there}`));
execSync(`cat ${written}`);
