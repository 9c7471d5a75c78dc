// Starts children under the bench: milliseconds a child, as JSON.
"use strict";

const { execFile, spawnSync } = require("child_process");
const { promisify } = require("util");

const CHILDREN = 50;
const TURNS = 3;

async function milliseconds(start) {
  await start();
  let best = Infinity;
  for (let turn = 0; turn < TURNS; turn++) {
    const begun = performance.now();
    for (let n = 0; n < CHILDREN; n++) await start();
    best = Math.min(best, (performance.now() - begun) / CHILDREN);
  }
  return best;
}

(async () => {
  const found = {
    "`execFile`": await milliseconds(() => promisify(execFile)("true")),
    "`spawnSync`": await milliseconds(() => spawnSync("true")),
  };
  console.log(JSON.stringify(found));
})();
