// `sdk_agent.cjs openai|anthropic`: a whole and a streamed reply to prompts that say when and who.
"use strict";

const { randomUUID } = require("node:crypto");

const prompt = () => `At ${new Date().toISOString()}, task ${randomUUID()}: what does it weigh?`;

async function openai() {
  const OpenAI = require("openai");
  const client = new OpenAI();
  const asked = () => ({
    model: "gpt-4.1-mini",
    messages: [{ role: "user", content: prompt() }],
  });
  const whole = await client.chat.completions.create(asked());
  console.log(whole.choices[0].message.content);
  for await (const part of await client.chat.completions.create({ ...asked(), stream: true })) {
    process.stdout.write(part.choices[0]?.delta?.content ?? "");
  }
}

async function anthropic() {
  const Anthropic = require("@anthropic-ai/sdk");
  const client = new Anthropic();
  const asked = () => ({
    model: "claude-sonnet-4-5",
    max_tokens: 200,
    messages: [{ role: "user", content: prompt() }],
  });
  const whole = await client.messages.create(asked());
  console.log(JSON.stringify(whole.content));
  for await (const event of client.messages.stream(asked())) {
    process.stdout.write(event.delta?.text ?? "");
  }
}

const turns = { openai, anthropic }[process.argv[2]];
(async () => {
  for (let turn = 0; turn < 3; turn++) {
    await turns();
    console.log();
  }
})();
