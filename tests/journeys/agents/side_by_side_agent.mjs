// Model calls side by side: each prompt holds times and ids from after the call before it.
import { randomUUID } from "node:crypto";

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

async function branch(name) {
  let known = "nothing yet";
  for (let round = 0; round < 4; round++) {
    const said = await ask(`${name} ${round}: ${known}`);
    known = `${said} at ${Date.now()}, ${Math.random()}, ${randomUUID()}`;
  }
  await ask(`${name} 4: ${known}`);
  return known;
}

console.log(await Promise.all(["one", "two", "three", "four"].map(branch)));
