/**
 * What is given to the agent: kept under (turn, call site, n-th there), given back in a replay.
 *
 * Clock values and real entropy are logged; other randomness is a keyed hash of the tape's seed and
 * needs no log. Knows nothing of the functions it stands behind.
 */
"use strict";

const { Buffer } = require("buffer");
const { createHmac } = require("crypto");
const { Site, Sites } = require("./sites.cjs");

const nativeNow = Date.now;
const AT_ONE_SITE = 4096;
const IN_ONE_TURN = 16384;
const LARGEST_DRAW = 65536;

/** Counts the questions of one kind in a turn. */
class Meter {
  constructor(kind) {
    this.kind = kind;
    this.turn = -1;
    this.asked = 0;
  }
}

class Given {
  constructor(run, page) {
    this.run = run;
    this.page = page;
    this.sites = new Sites();
    this.crowd = new Site("");
    this.declared = 0;
    this.latest = -Infinity;
    this.tape = null;
    this.told = new Set();
  }

  /**
   * The site that asks, entered for this turn. A loop that asks very often in one turn goes on as
   * one crowd, without a stack to be walked each time.
   */
  at(hook, meter) {
    try {
      return this.siteOf(hook, meter);
    } catch {
      return this.crowd;
    }
  }

  siteOf(hook, meter) {
    this.page.look();
    const turn = this.page.turn;
    if (meter.turn !== turn) {
      meter.turn = turn;
      meter.asked = 0;
    }
    const crowded = ++meter.asked > IN_ONE_TURN;
    if (meter.asked === IN_ONE_TURN + 1) this.miss(`${meter.kind} past ${IN_ONE_TURN} in one turn`);
    return (crowded ? this.crowd : this.sites.below(hook)).enter(turn);
  }

  /** The wall clock for `site`, in whole milliseconds since 1970. */
  time(site) {
    const now = this.replaying ? this.timeAgain(site) : nativeNow();
    this.keepTime(site, `${now}000000`);
    return now;
  }

  get replaying() {
    return this.run.replaying && !this.page.live;
  }

  timeAgain(site) {
    const recorded = this.recordedAt(site, "times");
    const now = recorded === undefined ? this.virtual() : milliseconds(recorded);
    this.latest = Math.max(this.latest, now);
    return now;
  }

  /** The virtual clock, never behind what was given already. */
  virtual() {
    const wall = Math.floor(this.page.virtual());
    return Number.isNaN(wall) ? nativeNow() : Math.max(wall, this.latest);
  }

  keepTime(site, nanoseconds) {
    const nth = site.times++;
    if (site === this.crowd) return;
    if (nth < AT_ONE_SITE) this.log("t", site, nanoseconds);
    else this.miss(`times past ${AT_ONE_SITE} in one turn`, site.text);
  }

  /** A moment of this process itself, asked once: `make` gives it where no tape does. */
  moment(text, make) {
    const site = this.sites.named(text).enter(0);
    const recorded = this.replaying ? this.recordedAt(site, "times") : undefined;
    const value = recorded === undefined ? make() : milliseconds(recorded);
    this.keepTime(site, `${Math.round(value * 1000)}000`);
    return value;
  }

  /** Real entropy, drawn by Node into `bytes`: kept, or overwritten by what the tape has. */
  entropy(site, bytes) {
    try {
      this.keepEntropy(site, bytes);
    } catch {
      // What Node has drawn stands.
    }
  }

  keepEntropy(site, bytes) {
    if (bytes.length > LARGEST_DRAW) {
      return this.miss("entropy past what is kept", `${bytes.length} bytes at ${site.text}`);
    }
    if (this.replaying) this.entropyAgain(site, bytes);
    const nth = site.draws++;
    if (site === this.crowd) return;
    if (nth < AT_ONE_SITE) this.log("r", site, hex(bytes));
    else this.miss("entropy past what is kept", `${AT_ONE_SITE} in a turn at ${site.text}`);
  }

  entropyAgain(site, bytes) {
    const recorded = this.recordedAt(site, "draws");
    const fits = recorded !== undefined && recorded.length === 2 * bytes.length;
    bytes.set(fits ? Buffer.from(recorded, "hex") : this.derived(site, "entropy", bytes.length));
  }

  /** The next `size` bytes of what the seed holds for this site and kind of value. */
  derived(site, kind, size) {
    const streams = site.streams || (site.streams = new Map());
    const nth = streams.get(kind) || 0;
    streams.set(kind, nth + 1);
    const place = `${this.run.name}\0${site.turn}\0${site.text}\0${kind}\0${nth}`;
    const blocks = [];
    for (let block = 0; block * 32 < size; block++) {
      blocks.push(createHmac("sha256", this.run.seed).update(`${place}\0${block}`).digest());
    }
    return Buffer.concat(blocks).subarray(0, size);
  }

  /** What the tape holds for the n-th question of this turn at this site, as text. */
  recordedAt(site, what) {
    if (site === this.crowd) return undefined;
    if (this.tape === null) this.tape = readLog(this.run.recorded());
    if (site.recorded === null) site.recorded = this.tape.get(site.text) || new Map();
    const turn = site.recorded.get(site.turn);
    return turn === undefined ? undefined : turn[what][site[what]];
  }

  log(kind, site, value) {
    if (!this.run.logging) return;
    if (site.declared === 0) {
      site.declared = ++this.declared;
      this.run.write(`s\t${site.declared}\t${site.text}\n`);
    }
    this.run.write(`${kind}\t${site.turn}\t${site.declared}\t${value}\n`);
  }

  /** Something cannot be kept, or given back: said once in this process. */
  miss(what, detail = "") {
    if (this.told.has(what)) return;
    this.told.add(what);
    this.run.write(`missing\t${what}\t${detail}\n`);
  }
}

/** Site text -> turn -> what was handed out there, in order. */
function readLog(text) {
  const names = new Map();
  const found = new Map();
  for (const line of text.slice(0, text.lastIndexOf("\n") + 1).split("\n")) {
    const [kind, first, second, value] = line.split("\t");
    if (kind === "s") names.set(first, second);
    else if (kind === "t" || kind === "r") {
      const turn = under(under(found, names.get(second), newMap), Number(first), newTurn);
      turn[kind === "t" ? "times" : "draws"].push(value);
    }
  }
  return found;
}

const newMap = () => new Map();
const newTurn = () => ({ times: [], draws: [] });

function under(map, key, make) {
  if (!map.has(key)) map.set(key, make());
  return map.get(key);
}

/** Nanoseconds as text hold more digits than a number: cut them first. */
function milliseconds(nanoseconds) {
  return Number(nanoseconds.slice(0, -6)) + Number(nanoseconds.slice(-6)) / 1e6;
}

function hex(bytes) {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
}

module.exports = { Given, Meter };
