/**
 * Who this process is in the run: its number, its key and its log in the recorder's run folder.
 *
 * Knows nothing of the values that are logged. What it needs of Node it takes before the agent's
 * code can have changed it.
 */
"use strict";

const { Buffer } = require("buffer");
const { createHash } = require("crypto");
const fs = require("fs");
const { isMainThread, threadId } = require("worker_threads");

const { closeSync, constants, openSync, readFileSync, readSync, readdirSync, writeSync } = fs;
const AT_THE_SAME_TIME = 64;
const LONGEST_HELLO = 65536;

const LABELLED = /^((?:http:\/\/)?)p\d+(?=:|$)/;
const DISPATCHER = Symbol.for("undici.globalDispatcher.1");
const PROXY_VARIABLES = [
  "RERAIL_PROXY",
  "http_proxy",
  "HTTP_PROXY",
  "https_proxy",
  "HTTPS_PROXY",
  "all_proxy",
  "ALL_PROXY",
  "npm_config_proxy",
  "npm_config_https_proxy",
];

class Run {
  constructor(folder) {
    this.folder = folder;
    this.settings = JSON.parse(readFileSync(`${folder}/settings.json`, "utf8"));
    this.seed = Buffer.from(this.settings.seed, "hex");
    this.replaying = this.settings.mode === "replay";
    this.logging = this.settings.log !== false;
    const kind = isMainThread ? "node" : "worker";
    const { key, nth } = this.claimName(kind);
    /** The same in a recording and in its replay. */
    this.name = `${key}.${nth}`;
    this.number = this.claimNumber();
    this.write(`hello\t${JSON.stringify(hello(key, nth, kind))}\n`);
  }

  claimName(kind) {
    const parent = process.env.RERAIL_PARENT || "";
    const key = sha256(`${parent}\0${kind}\0${mainScript()}`).slice(0, 16);
    const nth = lowestFree(isMainThread ? this.likeliest(key) : threadId - 1, (n) => {
      closeSync(openSync(`${this.folder}/k/${key}.${n}`, "wx", 0o600));
    });
    return { key, nth };
  }

  claimNumber() {
    return lowestFree(readdirSync(`${this.folder}/p`).length + 1, (n) => {
      this.log = openSync(this.logPath(n), "ax", 0o600);
    });
  }

  /**
   * Of processes that start at the same time, the first one to come here may be another one than in
   * the recording: in a replay the words of its command line tell. Threads are told by their number.
   */
  likeliest(key) {
    if (!this.replaying) return 0;
    const taken = new Set(readdirSync(`${this.folder}/k`));
    const ours = readdirSync(`${this.folder}/v`).filter((name) => name.startsWith(`${key}.`));
    const nths = ours.filter((name) => !taken.has(name)).map((name) => Number(name.split(".")[1]));
    const words = JSON.stringify(commandLine().slice(1));
    const same = (n) => JSON.stringify(this.recordedWords(`${key}.${n}`)) === words;
    const nearest = nths.sort((a, b) => a - b).slice(0, AT_THE_SAME_TIME);
    return (nearest.length > 1 && nearest.find(same)) || 0;
  }

  /** The command line in the hello of a recorded log. */
  recordedWords(name) {
    try {
      const log = openSync(`${this.folder}/v/${name}`, "r");
      const start = Buffer.alloc(LONGEST_HELLO);
      const text = start.toString("utf8", 0, readSync(log, start));
      closeSync(log);
      return JSON.parse(text.slice(text.indexOf("\t"), text.indexOf("\n"))).argv.slice(1);
    } catch {
      return null;
    }
  }

  logPath(number) {
    return `${this.folder}/p/${number}.log`;
  }

  /** One record, one write(2). A folder that is gone, or a full disk, must not stop the agent. */
  write(line) {
    try {
      writeSync(this.log, line);
    } catch {
      this.writeAnew(line);
    }
  }

  /** The agent may have closed what it had not opened. */
  writeAnew(line) {
    try {
      this.log = openSync(this.logPath(this.number), constants.O_WRONLY | constants.O_APPEND);
      writeSync(this.log, line);
    } catch {
      // Nobody reads it any more.
    }
  }

  /** What a process of that name was given in the recording, or nothing. */
  recorded() {
    try {
      return readFileSync(`${this.folder}/v/${this.name}`, "utf8");
    } catch {
      return "";
    }
  }

  /** What this process starts, and its own clients, are to carry its number. */
  relabel() {
    if (!environmentIsOwn()) return;
    process.env.RERAIL_PARENT = this.name;
    for (const name of PROXY_VARIABLES) {
      const url = process.env[name];
      if (url && LABELLED.test(url)) process.env[name] = this.label(url);
    }
    // In a worker of Node 24, fetch has its proxy before the preload comes.
    const fetching = globalThis[DISPATCHER];
    if (fetching && fetching.constructor.name === "EnvHttpProxyAgent") {
      globalThis[DISPATCHER] = new fetching.constructor();
    }
  }

  /** A user name, or an address with one in it, as this process is to use it. */
  label(text) {
    return text.replace(LABELLED, `$1p${this.number}`);
  }
}

function sha256(text) {
  return createHash("sha256").update(text).digest("hex");
}

/** A worker learns only after the preload which script it runs. */
function mainScript() {
  if (!isMainThread) return "";
  if (process._eval !== undefined) return "-e";
  const path = process.argv[1] || "";
  return path.slice(path.lastIndexOf("/") + 1);
}

/** A worker may share the one of the process, which takes no such name as a copy does. */
function environmentIsOwn() {
  if (isMainThread) return true;
  process.env["=rerail"] = "1";
  const copied = "=rerail" in process.env;
  delete process.env["=rerail"];
  return copied;
}

/** The first number from `first` on whose file nobody has made before. */
function lowestFree(first, make) {
  for (let n = first; ; n++) {
    try {
      make(n);
      return n;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
  }
}

function commandLine() {
  return [...process.argv.slice(0, 1), ...process.execArgv, ...process.argv.slice(1)];
}

function workFolder() {
  try {
    return process.cwd();
  } catch {
    return "";
  }
}

function hello(key, nth, kind) {
  return {
    pid: process.pid,
    ppid: process.ppid,
    argv: commandLine(),
    executable: process.execPath,
    version: process.version,
    key,
    n: nth,
    cwd: workFolder(),
    kind,
    inside: Number(process.env.RERAIL_INSIDE) || 0,
  };
}

module.exports = { Run };
