// Pages, streams and uploads with what Node has built in: fetch, https.get, http.request.
import { createHash } from "node:crypto";
import http from "node:http";
import https from "node:https";

const [secure, plain] = process.argv.slice(2);

function told(name, body, ...more) {
  const digest = createHash("sha256").update(body).digest("hex").slice(0, 16);
  console.log(name, body.length, digest, ...more);
}

async function withFetch(base) {
  for (const path of ["/page", "/moved", "/large", "/gzip", "/br", "/empty"]) {
    const reply = await fetch(base + path);
    told(`fetch ${path}`, Buffer.from(await reply.arrayBuffer()), reply.status);
  }
  const stream = await fetch(`${base}/stream`);
  const pieces = [];
  for await (const piece of stream.body) pieces.push(Buffer.from(piece));
  told("fetch /stream", Buffer.concat(pieces));
  const body = JSON.stringify({ a: [1, 2, 3] });
  const sent = await fetch(`${base}/upload`, { method: "POST", body });
  told("fetch /upload", Buffer.from(await sent.arrayBuffer()));
  const numbers = [0, 1, 2, 3];
  const replies = await Promise.all(numbers.map((n) => fetch(`${base}/page?n=${n}`)));
  for (const reply of replies) told("fetch /page", Buffer.from(await reply.arrayBuffer()));
}

function withModule(client, url, { method = "GET", body } = {}) {
  return new Promise((resolve, reject) => {
    const request = client.request(url, { method }, (reply) => {
      const pieces = [];
      reply.on("data", (piece) => pieces.push(piece));
      reply.on("end", () => {
        const sizes = url.endsWith("/stream") ? pieces.map((piece) => piece.length).join() : "";
        told(`${method} ${url}`, Buffer.concat(pieces), reply.statusCode, reply.httpVersion, sizes);
        resolve();
      });
    });
    request.on("information", (info) => console.log("information", info.statusCode));
    request.on("error", reject);
    request.end(body);
  });
}

await withFetch(secure);
await withFetch(plain);
await withModule(https, `${secure}/page`);
await withModule(https, `${secure}/stream`);
await withModule(https, `${secure}/hinted`);
await withModule(http, `${plain}/stream`);
await withModule(http, `${plain}/large`);
await withModule(http, `${plain}/old`);
await withModule(http, `${plain}/upload`, { method: "PUT", body: "u".repeat(70000) });
