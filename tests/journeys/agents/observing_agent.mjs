// Prompts, each with what `git status`, `ls -la` and `date` say, asked in three ways.
import { exec, execSync, spawn } from "child_process";
import { once } from "events";
import { promisify } from "util";

const WORDS = [["git", "status"], ["ls", "-la"], ["date", "+%s.%N"]];

async function bySpawn() {
  const said = WORDS.map(async ([program, ...rest]) => {
    const child = spawn(program, rest);
    let text = "";
    child.stdout.on("data", (piece) => (text += piece));
    const [status] = await once(child, "close");
    return `${status} ${text}`;
  });
  return (await Promise.all(said)).join("\n");
}

const bySync = () => WORDS.map((words) => String(execSync(words.join(" ")))).join("\n");

async function byShell() {
  const script = "git status 2>&1; ls -la; date +%s.%N; exit 3";
  const failed = await promisify(exec)(script).catch((error) => error);
  return `${failed.code} ${failed.stdout}`;
}

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

for (let turn = 0; turn < Number(process.argv[2] || 30); turn++) {
  const text = await [bySpawn, bySync, byShell][turn % 3]();
  console.log(`${text}\n-> ${await ask(text)}`);
}
