// An agent whose child writes beside its folder; its prompt holds what is there afterwards.
import { execSync } from "child_process";
import { existsSync, readFileSync } from "fs";

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

const written = `${process.argv[2]}/result.txt`;
const said = execSync(`expr 6 '*' 7 > ${written}; cat ${written}`);
const there = existsSync(written) ? readFileSync(written) : "and nothing more";
console.log(await ask(`${said}, ${there}`));
execSync(`cat ${written}`);
