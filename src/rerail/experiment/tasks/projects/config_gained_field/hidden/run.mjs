import assert from "node:assert/strict";
import { defaults } from "./defaults.js";
import { describe } from "./describe.js";
import { fromEnvironment } from "./environment.js";
import { forTests } from "./testing.js";

assert.deepEqual(defaults, { host: "localhost", port: 8080, retries: 3 });
assert.deepEqual(fromEnvironment({}), { host: "localhost", port: 8080, retries: 3 });
const given = fromEnvironment({ HOST: "a.org", PORT: "81", RETRIES: "7" });
assert.deepEqual(given, { host: "a.org", port: 81, retries: 7 });
assert.equal(fromEnvironment({ RETRIES: "many" }).retries, 3);
assert.deepEqual(forTests(9), { host: "127.0.0.1", port: 9, retries: 0 });
assert.equal(describe(defaults), "localhost:8080, 3 retries");
