/**
 * Tells the recorder of each child that this process starts, and plays in its place in a replay.
 *
 * Node owns the pipes of its children, so what passes is seen where Node itself hands it over. In a
 * replay the recorder gives a plan: what the child said and when. A shell stands where the child
 * would be until it is told how to end, or to become the real program. Whatever fails here, the
 * child starts as it would.
 */
"use strict";

const fs = require("fs");
const { named } = require("./written.cjs");

const { closeSync, constants, existsSync, linkSync, openSync, readFileSync, readSync } = fs;
const { unlinkSync, writeFileSync, writeSync } = fs;
const { setTimeout, setInterval, clearInterval } = globalThis;
const ATOMIC = 4000;
const PATIENCE_MS = 10000;
const BETWEEN_LINES_MS = 2;
const TURN_AT = 16;
const STREAMS = ["stdin", "stdout", "stderr"];
const PROXY = /^(RERAIL_PROXY|https?_proxy|all_proxy|npm_config_(https_)?proxy)=http:\/\/p\d+:/i;
const STAND_IN = `
trap '' @IGNORED@
echo >&@CONTROL@
while read -r how what <&@CONTROL@; do
case $how in
close) case $what in 1) exec >&-;; 2) exec 2>&-;; esac;;
run) trap - @IGNORED@; exec @CONTROL@>&-; exec "$@";;
kill) kill -"$what" $$; kill -KILL $$;;
exit) exit "$what";;
esac
done
exit 125`;

let count = 0;
let empty = "";

class Recorder {
  constructor(run) {
    this.run = run;
    this.folder = `${run.folder}/c`;
    this.files = 0;
  }

  /** Say one thing; what is long goes into a file, and the line names it. */
  say(said) {
    let line = `${JSON.stringify(said)}\n`;
    if (Buffer.byteLength(line) > ATOMIC) {
      const name = `${this.run.number}-${this.files++}`;
      writeFileSync(`${this.folder}/${name}`, line, { mode: 0o600 });
      line = `${JSON.stringify({ file: name })}\n`;
    }
    const pipe = openSync(`${this.run.folder}/pokes`, constants.O_WRONLY);
    try {
      writeSync(pipe, line);
    } finally {
      closeSync(pipe);
    }
  }

  /** Say it, and wait for the answer: a file of that name. */
  ask(said) {
    const name = `${this.run.number}-a${this.files++}`;
    this.say({ ...said, answer: name });
    const path = `${this.folder}/${name}`;
    const until = process.hrtime.bigint() + BigInt(PATIENCE_MS) * 1000000n;
    const pause = new Int32Array(new SharedArrayBuffer(4));
    while (!existsSync(path)) {
      if (process.hrtime.bigint() > until) throw new Error("the recorder did not answer");
      Atomics.wait(pause, 0, 0, 0.2);
    }
    const answer = JSON.parse(readFileSync(path, "utf8"));
    unlinkSync(path);
    return answer;
  }

  /** How many model calls the run has made; nobody waits for more once the folder is gone. */
  turn() {
    try {
      const words = Buffer.alloc(8);
      const page = openSync(`${this.run.folder}/page`, "r");
      readSync(page, words, 0, 8, TURN_AT);
      closeSync(page);
      return Number(words.readBigUInt64LE());
    } catch {
      return Infinity;
    }
  }
}

class Child {
  constructor(recorder, { file, args, cwd, kinds, told, toldAll, waits }) {
    this.recorder = recorder;
    this.number = claim(recorder.run);
    this.kinds = kinds;
    this.told = told ? [told] : [];
    this.toldAll = toldAll;
    const folder = cwd === undefined || cwd === null ? process.cwd() : String(cwd);
    const argv = args && args.length ? args.map(String) : [String(file)];
    const start = {
      do: "start",
      child: this.number,
      parent: recorder.run.number,
      inside: Number(process.env.RERAIL_INSIDE) || 0,
      argv,
      cwd: folder,
      shell: false,
      streams: kinds,
      descriptors: [],
      plays: true,
      told: base64(told),
      told_all: toldAll,
      waits: Boolean(waits),
      named: recorder.run.replaying ? {} : named(argv, folder),
    };
    if (recorder.run.replaying) this.answer = recorder.ask(start);
    else recorder.say(start);
  }

  say(what, more) {
    try {
      this.recorder.say({ do: what, child: this.number, ...more });
    } catch {
      // The run is over, or its folder is gone: the agent goes on.
    }
  }

  passed(stream, data) {
    if (data.length) this.say("passed", { stream, data: base64(data) });
  }

  streamEnded(stream, how) {
    this.say("stream", { stream, how });
  }

  /** Everything it starts knows that it is inside, and its traffic is its own. */
  environment(pairs) {
    if (!pairs || !pairs.some((pair) => pair.startsWith("RERAIL_RUN="))) return pairs;
    const found = pairs.filter((pair) => !pair.startsWith("RERAIL_INSIDE="));
    return [
      ...found.map((pair) =>
        PROXY.test(pair) ? pair.replace(/\/\/p\d+:/, `//p${this.number}:`) : pair,
      ),
      `RERAIL_INSIDE=${this.number}`,
    ];
  }
}

function base64(data) {
  return data ? Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64") : "";
}

/** A number that no other process of the run has. */
function claim(run) {
  count = Math.max(count, run.number);
  for (;;) {
    count += 1;
    try {
      reserve(run.logPath(count));
      return count;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
  }
}

/** A second name for one empty file is much quicker than a file. */
function reserve(path) {
  try {
    linkSync(empty, path);
  } catch (error) {
    if (error.code === "EEXIST") throw error;
    // The first one, or one too many, or a file system without such names.
    closeSync(openSync(path, "wx", 0o600));
    empty = path;
  }
}

/** What one entry of `stdio` is to the child. */
function kindOf(entry) {
  if (entry === undefined || entry === null || entry === "pipe" || entry === "overlapped") {
    return "pipe";
  }
  if (entry === "ignore") return "null";
  const descriptor = typeof entry === "number" ? entry : entry && entry.fd;
  return entry === "inherit" || (descriptor >= 0 && descriptor <= 2) ? "inherited" : "passed";
}

function normalized(stdio) {
  if (typeof stdio === "string") return [stdio, stdio, stdio];
  const entries = Array.isArray(stdio) ? [...stdio] : [];
  while (entries.length < 3) entries.push(entries.length < 3 ? "pipe" : null);
  return entries;
}

function kindsOf(entries) {
  return Object.fromEntries(STREAMS.map((name, index) => [name, entries[index]]));
}

// Children that are waited for on the spot.

function hookSync(recorder, binding) {
  const native = binding.spawn;
  binding.spawn = function (options) {
    const child = quietly(recorder, () => announceSync(recorder, options));
    if (!child) return native.call(this, options);
    const plan = child.answer && child.answer.plan;
    if (plan) return played(child, plan);
    const result = native.call(this, {
      ...options,
      envPairs: child.environment(options.envPairs),
    });
    if (!child.answer || child.answer.real) quietly(recorder, () => tellResult(child, result));
    return result;
  };
}

function announceSync(recorder, options) {
  const entries = options.stdio.map((entry) => {
    if (entry.type === "inherit" || (entry.type === "fd" && entry.fd <= 2)) return "inherited";
    return { pipe: "pipe", ignore: "null" }[entry.type] || "passed";
  });
  const input = options.stdio[0] && options.stdio[0].input;
  const told = input ? Buffer.from(input.buffer, input.byteOffset, input.byteLength) : undefined;
  return new Child(recorder, { ...options, kinds: kindsOf(entries), told, toldAll: true, waits: true });
}

function tellResult(child, result) {
  if (!result.pid) {
    child.say("failed", { why: reason(result.error) });
    return;
  }
  child.say("pid", { pid: result.pid });
  if (child.kinds.stdin === "pipe") {
    for (const piece of child.told) child.passed("stdin", piece);
    child.streamEnded("stdin", "complete");
  }
  STREAMS.slice(1).forEach((name, index) => {
    if (child.kinds[name] !== "pipe") return;
    child.passed(name, (result.output && result.output[index + 1]) || Buffer.alloc(0));
    child.streamEnded(name, "complete");
  });
  // One that Node itself gave up (its time, its output) has an end that is not its own.
  if (!result.error) child.say("end", { status: statusOf(result.status, result.signal) });
}

function played(child, plan) {
  const output = STREAMS.map((name) =>
    plan.kept.includes(name) && name !== "stdin"
      ? Buffer.concat(plan.pieces.filter((p) => p.stream === name).map((p) => decoded(p.data)))
      : null,
  );
  const { signal, status } = plan.end || { signal: 0, status: 0 };
  const name = signal ? signalName(signal) : null;
  if (plan.tell) {
    child.say("pid", { pid: 0 });
    child.say("end", { status: signal ? -signal : status });
  }
  return { pid: process.pid, status: signal ? null : status, signal: name, output };
}

// Children that run beside.

function hookAsync(recorder, ChildProcess) {
  const { spawn, kill } = ChildProcess.prototype;
  const children = new WeakMap();
  ChildProcess.prototype.spawn = function (options) {
    const entries = normalized(options && options.stdio);
    const child = quietly(recorder, () => announce(recorder, options, entries));
    if (!child) return spawn.call(this, options);
    const given = { ...options, envPairs: child.environment(options.envPairs) };
    const plan = child.answer && child.answer.plan;
    if (child.answer && child.answer.plain) return spawn.call(this, given);
    if (plan && entries.length <= 9) {
      const player = new Player(child, this, plan, given);
      children.set(this, player);
      return player.start(spawn, entries);
    }
    children.set(this, child);
    const failed = spawn.call(this, given);
    quietly(recorder, () => follow(child, this, failed));
    return failed;
  };
  ChildProcess.prototype.kill = function (number) {
    const child = children.get(this);
    if (child && this.exitCode === null) quietly(recorder, () => signalled(child, number));
    return kill.call(this, number);
  };
}

function announce(recorder, options, entries) {
  if (!options || entries.includes("ipc")) return null;
  const kinds = kindsOf(entries.map(kindOf));
  const toldAll = kinds.stdin !== "pipe";
  return new Child(recorder, { ...options, kinds, toldAll });
}

function signalled(child, number) {
  const value = typeof number === "number" ? number : signals()[number || "SIGTERM"];
  if (!value) return;
  child.say("signal", { signal: value });
  if (child.stir) {
    child.signals += 1;
    child.stir();
  }
}

/** See what passes where Node hands it over, without a change to who waits for whom. */
function follow(child, running, failed) {
  if (failed) {
    child.say("failed", { why: reason(failed) });
    return;
  }
  child.say("pid", { pid: running.pid });
  for (const name of STREAMS.slice(1)) {
    const stream = running[name];
    if (!stream) continue;
    const { push } = stream;
    stream.push = function (piece, ...more) {
      if (piece === null) child.streamEnded(name, "complete");
      else child.passed(name, piece);
      return push.call(this, piece, ...more);
    };
  }
  if (running.stdin) followStdin(child, running.stdin);
  running.once("exit", (status, signal) => {
    child.say("end", { status: statusOf(status, signal) });
  });
}

function followStdin(child, stdin) {
  const { _writeGeneric, _final } = stdin;
  stdin._writeGeneric = function (several, data, encoding, done) {
    child.passed("stdin", written(several, data, encoding));
    return _writeGeneric.call(this, several, data, encoding, done);
  };
  stdin._final = function (done) {
    child.streamEnded("stdin", "complete");
    return _final.call(this, done);
  };
}

function written(several, data, encoding) {
  if (!several) return Buffer.isBuffer(data) ? data : Buffer.from(data, encoding);
  return Buffer.concat(data.map((each) => written(false, each.chunk, each.encoding)));
}

/** One child of a replay: what its plan says is said when its time has come. */
class Player {
  constructor(child, running, plan, options) {
    this.child = child;
    this.running = running;
    this.options = options;
    this.told = [];
    this.toldAll = child.toldAll;
    this.signals = 0;
    this.given = false;
    this.real = false;
    this.over = false;
    this.ready = false;
    this.toSay = [];
    this.speaking = false;
    this.began = process.hrtime.bigint();
    this.take(plan);
  }

  take(plan) {
    this.plan = plan;
    this.pieces = [...plan.pieces];
    this.expected = decoded(plan.told);
  }

  say(what, more) {
    this.child.say(what, more);
  }

  start(spawn, entries) {
    const { running, options, plan } = this;
    const control = entries.length;
    const real = options.args && options.args.length ? options.args : [options.file];
    const ignored = plan.ignore.length ? plan.ignore.join(" ") : "0";
    const script = STAND_IN.replace(/@IGNORED@/g, ignored).replace(/@CONTROL@/g, control);
    const failed = spawn.call(running, {
      ...options,
      file: "/bin/sh",
      args: ["/bin/sh", "-c", script, String(real[0]), options.file, ...real.slice(1)],
      stdio: [...entries, "pipe"],
    });
    if (failed) return failed;
    this.control = running.stdio[control];
    running.stdio.length = control;
    running.spawnfile = options.file;
    running.spawnargs = real;
    this.control.on("error", () => {});
    this.control.once("data", () => {
      this.ready = true;
      this.stir();
    });
    if (running.stdin) this.holdStdin(running.stdin);
    this.timer = setInterval(() => this.stir(), 5).unref();
    running.once("exit", () => this.close());
    this.say("pid", { pid: running.pid });
    return failed;
  }

  /** Nothing reaches the stand-in, unless it becomes the real program. */
  holdStdin(stdin) {
    const player = this;
    const { _writeGeneric, _final } = stdin;
    this.forward = (data, done) => _writeGeneric.call(stdin, false, data, "buffer", done);
    this.finish = () => _final.call(stdin, () => {});
    stdin._writeGeneric = function (several, data, encoding, done) {
      if (player.real) return _writeGeneric.call(this, several, data, encoding, done);
      const piece = written(several, data, encoding);
      player.told.push(piece);
      if (player.plan.tell) player.child.passed("stdin", piece);
      if (player.plan.dialogue) player.converse(piece);
      player.hear();
      process.nextTick(done);
    };
    stdin._final = function (done) {
      if (player.real) return _final.call(this, done);
      player.toldAll = true;
      if (player.plan.tell) player.child.streamEnded("stdin", "complete");
      player.hear();
      done();
    };
  }

  /** An MCP server's answers are the recorder's to find. */
  converse(piece) {
    this.given = true;
    const { recorder, number } = this.child;
    const ask = { do: "spoke", child: number, data: base64(piece) };
    const answer = quietly(recorder, () => recorder.ask(ask)) || { said: [] };
    this.toSay.push(...answer.said.map(decoded));
    if (!this.speaking) this.speak();
  }

  /** A client that reads an answer with what came before it may have done with that. */
  speak() {
    this.speaking = this.toSay.length > 0;
    if (!this.speaking) return;
    setTimeout(() => {
      const said = this.toSay.shift();
      if (this.plan.tell) this.child.passed("stdout", said);
      if (this.running.stdout) this.running.stdout.push(said);
      this.speak();
    }, BETWEEN_LINES_MS);
  }

  hear() {
    if (!this.real && !this.plan.dialogue && !this.fits()) this.notAsTold();
    this.stir();
  }

  fits() {
    const told = Buffer.concat(this.told);
    const { expected } = this;
    const head = expected.subarray(0, told.length);
    if (!this.plan.told_whole && told.length > expected.length) {
      return told.subarray(0, expected.length).equals(expected);
    }
    if (this.toldAll && this.plan.told_whole) return told.equals(expected);
    return told.length <= expected.length && head.equals(told);
  }

  notAsTold() {
    if (this.given) {
      this.say("diverged", {});
      this.order("exit 70");
      this.over = true;
      return;
    }
    const told = Buffer.concat(this.told);
    const { recorder, number } = this.child;
    const ask = { do: "told", child: number, told: base64(told), told_all: this.toldAll };
    const answer = quietly(recorder, () => recorder.ask(ask)) || { real: true };
    if (answer.plan) this.take(answer.plan);
    else this.becomeReal(told);
  }

  becomeReal(told) {
    this.real = this.over = true;
    this.order("run");
    if (told.length) this.forward(told, () => {});
    if (this.toldAll) this.finish();
  }

  stir() {
    if (this.over || !this.ready) return;
    while (this.pieces.length && this.isDue(this.pieces[0])) this.give(this.pieces.shift());
    const { end } = this.plan;
    if (this.pieces.length || !end) return;
    const closed = this.toldAll || !end.closed;
    if ((!end.sent && closed && this.isDue(end)) || this.isLate(end)) {
      this.given = this.over = true;
      this.child.recorder.ask({ do: "ending", child: this.child.number });
      this.order(end.signal ? `kill ${end.signal}` : `exit ${end.status}`);
    }
  }

  isDue(moment) {
    const told = this.told.reduce((size, piece) => size + piece.length, 0);
    const reached = moment.told <= told && moment.signals <= this.signals;
    if (reached && moment.turn <= this.child.recorder.turn()) return true;
    return this.isLate(moment);
  }

  isLate(moment) {
    const ms = Number(process.hrtime.bigint() - this.began) / 1e6;
    return ms > moment.after_ms + PATIENCE_MS;
  }

  give(piece) {
    this.given = true;
    const data = decoded(piece.data);
    const stream = this.running[piece.stream];
    if (this.plan.tell && data.length) this.child.passed(piece.stream, data);
    if (data.length) {
      if (stream && !stream.destroyed) stream.push(data);
    } else {
      this.order(`close ${STREAMS.indexOf(piece.stream)}`);
    }
  }

  order(words) {
    if (!this.control.destroyed) this.control.write(`${words}\n`);
  }

  close() {
    this.over = true;
    clearInterval(this.timer);
    this.control.destroy();
    for (const name of this.plan.tell ? this.plan.kept : []) {
      this.child.streamEnded(name, "complete");
    }
    const { exitCode, signalCode } = this.running;
    this.say("end", { status: statusOf(exitCode, signalCode) });
  }
}

function decoded(text) {
  return Buffer.from(text || "", "base64");
}

function statusOf(status, signal) {
  return signal ? -(signals()[signal] || 0) : status || 0;
}

function signals() {
  return require("os").constants.signals;
}

function signalName(number) {
  return Object.keys(signals()).find((name) => signals()[name] === number) || null;
}

function reason(code) {
  try {
    return require("util").getSystemErrorName(code);
  } catch {
    return String(code);
  }
}

function quietly(recorder, work) {
  try {
    return work();
  } catch (error) {
    recorder.run.write(`missing\ta child was not recorded\t${String(error).split("\n")[0]}\n`);
    return null;
  }
}

/** Hook what starts children in this process, where the recorder listens for it. */
function install(run) {
  if (!run.settings.children || !existsSync(`${run.folder}/pokes`)) return;
  const recorder = new Recorder(run);
  hookAsync(recorder, require("child_process").ChildProcess);
  hookSync(recorder, process.binding("spawn_sync"));
}

module.exports = { install };
