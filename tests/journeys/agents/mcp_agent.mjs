// Calls one tool of an MCP server three times, with the JavaScript SDK.
import { createRequire } from "module";
import { pathToFileURL } from "url";

const { resolve } = createRequire(`${process.env.NODE_PATH}/x.js`);
const load = (name) => import(pathToFileURL(resolve(`@modelcontextprotocol/sdk/client/${name}`)));
const [{ Client }, { StdioClientTransport }] = await Promise.all([load("index.js"), load("stdio.js")]);

const [command, ...args] = JSON.parse(process.argv[2]);
const client = new Client({ name: "tester", version: "1" });
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
console.log((await client.listTools()).tools.map((tool) => tool.name).sort().join());
const call = { name: process.argv[3], arguments: JSON.parse(process.argv[4]) };
for (let n = 0; n < 3; n++) {
  console.log(JSON.stringify(await client.callTool(call)));
}
await client.close();
