/**
 * The recorder's page: which turn of this process it is, and what the clock is to say. Read only.
 *
 * Node cannot map a file, so it is read anew; within one look's 50 us no reply can have come, since
 * a turn moves on before the first byte of its reply, and a way through the recorder takes longer.
 */
"use strict";

const { openSync, readSync } = require("fs");

const monotonic = process.hrtime.bigint;
const HEAD_SIZE = 64;
const SLOTS = 4096;
const FRESH = 50_000n;
const VERSION = 1;
const TRIES = 100;
const REAL_CLOCK = 1;
const MILLISECOND = 1e6;
/** How long the clock waits at the next recorded model call: who polls for a later time must get it. */
const HELD = 2000;

class Page {
  constructor(run) {
    this.run = run;
    this.file = openSync(`${run.folder}/page`, "r");
    this.bytes = new Uint8Array(HEAD_SIZE);
    this.words = new Uint32Array(this.bytes.buffer);
    this.longs = new BigInt64Array(this.bytes.buffer);
    this.lookedAt = 0n;
    this.known = -1;
    this.turn = 0;
    this.live = false;
    this.wallBase = 0;
    this.monoBase = 0n;
    this.wallLimit = 0;
  }

  /** Bring the fields up to date. */
  look() {
    const now = monotonic();
    if (now - this.lookedAt < FRESH) return;
    this.lookedAt = now;
    let before = -1;
    for (let tries = 0; tries < TRIES; tries++) {
      readSync(this.file, this.bytes, 0, HEAD_SIZE, 0);
      const counter = this.words[2];
      if (counter === this.known) return;
      // Odd while the recorder writes; two looks that agree saw no half of a change.
      if (counter % 2 === 0 && counter === before) return this.take(counter);
      before = counter;
    }
    // The recorder was kept from going on. A turn is one word, and there before anything it leads to.
    this.turn = this.turnOf(this.run.number);
    this.lookedAt = 0n;
  }

  take(counter) {
    if (this.words[0] !== VERSION) return;
    this.known = counter;
    this.turn = this.turnOf(this.run.number);
    this.wallBase = Number(this.longs[3]) / MILLISECOND;
    this.monoBase = this.longs[4];
    this.wallLimit = Number(this.longs[5]) / MILLISECOND;
    this.live = (this.words[12] & REAL_CLOCK) !== 0;
  }

  /** The model calls of this process, and those of nobody known. */
  turnOf(number) {
    return number < SLOTS ? this.slot(number) + this.slot(0) : this.words[4];
  }

  slot(number) {
    const turns = new Uint32Array(2);
    readSync(this.file, turns, 0, 8, HEAD_SIZE + 8 * number);
    return turns[0];
  }

  /** The virtual clock, in milliseconds since 1970; NaN where the recorder has not set it. */
  virtual() {
    if (this.wallBase === 0) return NaN;
    const wall = this.wallBase + Number(monotonic() - this.monoBase) / MILLISECOND;
    const over = this.wallLimit ? wall - this.wallLimit : 0;
    return over > 0 ? this.wallLimit + Math.max(0, over - HELD) : wall;
  }
}

module.exports = { Page };
