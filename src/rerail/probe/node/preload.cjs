/**
 * Loaded by every Node an agent starts: each TCP connection goes to the recorder, and what the
 * clock and chance give comes from it (`values.cjs`).
 *
 * Clients that read no proxy variables (fetch, http and https before Node 24, agents of their own)
 * all end in `net.Socket.prototype.connect`. The connection is made to the recorder instead, and the
 * first bytes on it are a CONNECT request that asks for no answer: whatever the client writes after
 * it, TLS or not, is meant for the origin. Needs nothing but Node 10 or newer, and no file beside it:
 * Node's permission model lets it read this one alone.
 */
"use strict";

const { Buffer } = require("buffer");
const fs = require("fs");
const net = require("net");

const run = joinRun(process.env.RERAIL_RUN);
const recorder = recorderFrom(process.env.RERAIL_PROXY);
const ownPorts = new Set();

if (recorder) {
  const connect = net.Socket.prototype.connect;
  const listen = net.Server.prototype.listen;
  net.Socket.prototype.connect = function (...given) {
    return connectThrough(this, connect, given);
  };
  net.Server.prototype.listen = function (...given) {
    this.once("listening", () => rememberPort(this));
    return listen.apply(this, given);
  };
}

/** A folder that cannot be used, or a Node too old for it, leaves the agent its own clock. */
function joinRun(folder) {
  if (!folder) return null;
  try {
    return require("./values.cjs").join(folder);
  } catch {
    return null;
  } finally {
    for (const name of Object.keys(require.cache)) {
      if (name.startsWith(__dirname)) delete require.cache[name];
    }
  }
}

function recorderFrom(text) {
  if (!text) return null;
  try {
    const url = new URL(text);
    return {
      host: url.hostname,
      port: Number(url.port || 80),
      user: decodeURIComponent(url.username),
      token: decodeURIComponent(url.password),
    };
  } catch {
    return null;
  }
}

/** Whose traffic this is. */
function authorization() {
  const user = run ? run.label(recorder.user) : recorder.user;
  return Buffer.from(`${user}:${recorder.token}`).toString("base64");
}

function connectThrough(socket, connect, given) {
  // Inside Node the arguments come as [options, callback], an array marked by a symbol.
  const normalized = Array.isArray(given[0]) ? given[0] : net._normalizeArgs(given);
  const options = normalized[0];
  if (!goesOut(options)) return connect.apply(socket, given);
  const redirected = normalized.slice();
  for (const key of Object.getOwnPropertySymbols(normalized)) redirected[key] = normalized[key];
  redirected[0] = Object.assign(Object.create(Object.getPrototypeOf(options)), options, {
    host: recorder.host,
    port: recorder.port,
    family: 4,
    localAddress: undefined,
    localPort: undefined,
  });
  const result = connect.call(socket, redirected);
  if (socket._handle) greetFirst(socket._handle._parent || socket._handle, options);
  return result;
}

/** Whether these options lead out of this process: not to a pipe, the recorder or an own server. */
function goesOut(options) {
  const port = Number(options.port);
  if (options.path || !(port > 0 && port < 65536)) return false;
  const host = options.host || "localhost";
  if (host === recorder.host && port === recorder.port) return false;
  return !(ownPorts.has(port) && isLoopback(host));
}

function isLoopback(host) {
  return host === "localhost" || host === "::1" || /^127\./.test(host);
}

function rememberPort(server) {
  const address = server.address();
  if (!address || typeof address !== "object") return;
  ownPorts.add(address.port);
  server.once("close", () => ownPorts.delete(address.port));
}

/**
 * Write the CONNECT as soon as the TCP connection stands and before anybody else can write.
 *
 * `handle` is the TCP handle, below TLS where there is any, and connects on a later tick. A new
 * connection's send buffer is empty, so one write takes it all.
 */
function greetFirst(handle, options) {
  const connectHandle = handle.connect;
  handle.connect = function (request, ...address) {
    const complete = request.oncomplete;
    request.oncomplete = function (status, ...rest) {
      if (status === 0) greet(handle.fd, options);
      return complete.call(this, status, ...rest);
    };
    return connectHandle.call(this, request, ...address);
  };
}

function greet(descriptor, options) {
  const host = options.host || "localhost";
  const target = `${host.includes(":") ? `[${host}]` : host}:${options.port}`;
  const lines = [
    `CONNECT ${target} HTTP/1.1`,
    `Host: ${target}`,
    `Proxy-Authorization: Basic ${authorization()}`,
    "Rerail-Answer: none",
  ];
  try {
    fs.writeSync(descriptor, `${lines.join("\r\n")}\r\n\r\n`);
  } catch {
    // The recorder is gone already: the client's own first write finds that out.
  }
}
