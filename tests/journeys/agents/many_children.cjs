// Starts children in every way that a Node agent may, and prints what came of each.
"use strict";

const { exec, execFile, execFileSync, execSync, spawn, spawnSync } = require("child_process");
const { once } = require("events");
const { promisify } = require("util");
const readline = require("readline");

const text = (buffer) => (buffer === null || buffer === undefined ? buffer : String(buffer));
const shown = ({ status, signal, stdout, stderr, error }) => [
  status, signal, text(stdout), text(stderr), error && error.code,
];

function collected(child) {
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"]) {
    if (child[name]) child[name].on("data", (piece) => (said[name] += piece));
  }
  return once(child, "close").then(([status, signal]) => [status, signal, said.stdout, said.stderr]);
}

const WAYS = {
  sync: () => shown(spawnSync("sh", ["-c", "echo out; echo err >&2; exit 3"])),
  syncInput: () => shown(spawnSync("sort", { input: "b\na\n", encoding: "utf8" })),
  syncMissing: () => shown(spawnSync("no-such-program-anywhere")),
  syncKilled: () => shown(spawnSync("sh", ["-c", "kill -9 $$"])),
  syncTimeout: () => shown(spawnSync("sh", ["-c", "echo begun; exec sleep 30"], { timeout: 1500 })),
  execSync: () => text(execSync("echo by execSync")),
  execSyncFailed: () => {
    try {
      return execSync("echo out; echo err >&2; exit 2", { stdio: "pipe" });
    } catch (error) {
      return shown(error);
    }
  },
  execFileSync: () => execFileSync("echo", ["by", "file"], { encoding: "utf8" }),
  exec: () => promisify(exec)("echo out; echo err >&2"),
  execFailed: () => promisify(exec)("echo out; exit 4").catch((e) => [e.code, e.stdout, e.killed]),
  execFile: () => promisify(execFile)("printf", ["%s|", "a", "b c"]),
  execTimeout: () => promisify(exec)("echo begun; exec sleep 30", { timeout: 1500 })
    .catch((e) => [e.code, e.signal, e.killed, e.stdout]),
  spawned: () => collected(spawn("sh", ["-c", "echo 1; echo 2 >&2; echo 3; exit 5"])),
  shell: () => collected(spawn("echo $0 | cat; exit 1", { shell: true })),
  missing: () => new Promise((done) => {
    spawn("no-such-program-anywhere").on("error", (error) => done(error.code));
  }),
  told: async () => {
    const child = spawn("sort");
    const said = collected(child);
    child.stdin.write("b\nc\n");
    child.stdin.end("a\n");
    return said;
  },
  conversation: async () => {
    const child = spawn("cat");
    const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const heard = [];
    for (let n = 0; n < 10; n++) {
      child.stdin.write(`line ${n}\n`);
      heard.push((await lines.next()).value);
    }
    child.stdin.end();
    return [heard, ...(await once(child, "close"))];
  },
  killed: async () => {
    const child = spawn("sleep", ["30"]);
    await once(child, "spawn");
    child.kill();
    return once(child, "close");
  },
  kindly: async () => {
    const script = "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done";
    const child = spawn("sh", ["-c", script]);
    let said = "";
    child.stdout.on("data", (piece) => (said += piece));
    await once(child.stdout, "data");
    child.kill("SIGTERM");
    const ended = await once(child, "close");
    return [said, ...ended];
  },
  large: async () => {
    const [status, , stdout] = await collected(spawn("head", ["-c", "500000", "/dev/zero"]));
    return [status, stdout.length];
  },
  slowly: async () => {
    const child = spawn("head", ["-c", "300000", "/dev/zero"]);
    let size = 0;
    for await (const piece of child.stdout) {
      size += piece.length;
      await new Promise((done) => setTimeout(done, 1));
    }
    return size;
  },
  together: () => Promise.all([1, 2, 3, 4].map((n) => promisify(exec)(`echo ${n}`))),
  inAFolder: () => collected(spawn("pwd", { cwd: "/" })),
  bare: () => collected(spawn("/bin/echo", ["bare"], { env: {} })),
  ignored: () => collected(spawn("sh", ["-c", "echo out; exit 6"], { stdio: "ignore" })),
  nodeInside: () => text(execFileSync(process.execPath, [
    "-e", "console.log(String(require('child_process').execSync('echo inner')))",
  ])),
};

(async () => {
  const chosen = process.argv.slice(2);
  for (const [name, way] of Object.entries(WAYS)) {
    if (chosen.length && !chosen.includes(name)) continue;
    console.log(name, JSON.stringify(await way()));
  }
})();
