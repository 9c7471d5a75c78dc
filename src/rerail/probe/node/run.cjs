/**
 * Who this process is in the run: its number, its key and its log in the recorder's run folder.
 *
 * Knows nothing of the values that are logged. What it needs of Node it takes before the agent's
 * code can have changed it.
 */
"use strict";

const { createHash } = require("crypto");
const { closeSync, constants, openSync, readFileSync, readdirSync, writeSync } = require("fs");

const LABELLED = /^((?:http:\/\/)?)p\d+(?=:|$)/;
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
  constructor(folder, { worker }) {
    this.folder = folder;
    this.worker = worker;
    this.settings = JSON.parse(readFileSync(`${folder}/settings.json`, "utf8"));
    this.seed = Buffer.from(this.settings.seed, "hex");
    this.replaying = this.settings.mode === "replay";
    this.logging = this.settings.log !== false;
    this.claimed = null;
  }

  /** A worker learns which script it runs only after the preload, so it claims at first need. */
  get self() {
    return this.claimed || (this.claimed = this.claim());
  }

  /** The name of this very run of the program: the same in a recording and in its replay. */
  get name() {
    return `${this.self.key}.${this.self.nth}`;
  }

  claim() {
    const kind = this.worker ? "worker" : "node";
    const parent = process.env.RERAIL_PARENT || "";
    const key = sha256(`${parent}\0${kind}\0${mainScript(this.worker)}`).slice(0, 16);
    const nth = lowestFree(0, (n) => closeSync(openSync(`${this.folder}/k/${key}.${n}`, "wx", 0o600)));
    let log = -1;
    const number = lowestFree(readdirSync(`${this.folder}/p`).length + 1, (n) => {
      log = openSync(this.logPath(n), "ax", 0o600);
    });
    writeSync(log, `hello\t${JSON.stringify(hello(key, nth, kind))}\n`);
    return { number, key, nth, log };
  }

  logPath(number) {
    return `${this.folder}/p/${number}.log`;
  }

  /** One record, one write(2). A folder that is gone, or a full disk, must not stop the agent. */
  write(line) {
    try {
      writeSync(this.self.log, line);
    } catch {
      this.writeAnew(line);
    }
  }

  /** The agent may have closed what it had not opened. */
  writeAnew(line) {
    try {
      this.self.log = openSync(this.logPath(this.self.number), constants.O_WRONLY | constants.O_APPEND);
      writeSync(this.self.log, line);
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

  /**
   * What this process starts, and its own clients, are to carry its number.
   *
   * A worker leaves the environment alone, since it may share it with the thread that started it.
   */
  relabel() {
    if (this.worker) return;
    process.env.RERAIL_PARENT = this.name;
    for (const name of PROXY_VARIABLES) {
      const url = process.env[name];
      if (url && LABELLED.test(url)) process.env[name] = this.label(url);
    }
  }

  /** A user name, or an address with one in it, as this process is to use it. */
  label(text) {
    return text.replace(LABELLED, `$1p${this.self.number}`);
  }
}

function sha256(text) {
  return createHash("sha256").update(text).digest("hex");
}

function mainScript(worker) {
  if (!worker && process._eval !== undefined) return "-e";
  const path = process.argv[1] || "";
  return path.slice(path.lastIndexOf("/") + 1);
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

function hello(key, nth, kind) {
  return {
    pid: process.pid,
    ppid: process.ppid,
    argv: [...process.argv.slice(0, 1), ...process.execArgv, ...process.argv.slice(1)],
    executable: process.execPath,
    version: process.version,
    key,
    n: nth,
    cwd: process.cwd(),
    kind,
  };
}

module.exports = { Run };
