// Reads the clock and draws random values under the bench: nanoseconds a call, as JSON.
"use strict";

const crypto = require("node:crypto");

const CALLS = 500;
const TURNS = 7;
const LOOP = 100000;

/** The quickest of some rounds, a call. */
function nanoseconds(call, calls = CALLS) {
  let best = Infinity;
  for (let turn = 0; turn < TURNS; turn++) {
    const begun = process.hrtime.bigint();
    for (let n = 0; n < calls; n++) call();
    best = Math.min(best, Number(process.hrtime.bigint() - begun) / calls);
  }
  return best;
}

// Each is called from its own line, so each is a place of its own to the probe.
const found = {
  "Date.now": nanoseconds(() => Date.now()),
  "new Date": nanoseconds(() => new Date()),
  "Math.random": nanoseconds(() => Math.random()),
  "crypto.randomUUID": nanoseconds(() => crypto.randomUUID()),
  "crypto.randomBytes": nanoseconds(() => crypto.randomBytes(16)),
  "Date.now in a loop without end": nanoseconds(() => Date.now(), LOOP),
  "Math.random in a loop without end": nanoseconds(() => Math.random(), LOOP),
};
console.log(JSON.stringify(found));
