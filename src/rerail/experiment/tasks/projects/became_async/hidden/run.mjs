import assert from "node:assert/strict";
import { hasTag } from "./has.js";
import { answer, report } from "./report.js";
import { load } from "./store.js";
import { tags } from "./tags.js";

assert.ok(load() instanceof Promise);
assert.deepEqual(await tags(), ["home", "shop", "work"]);
assert.equal(await hasTag("work"), true);
assert.equal(await hasTag("play"), false);
assert.equal(await report(), "2 notes, longest 15");
assert.equal(await answer("home"), "yes");
assert.equal(await answer("play"), "no");
