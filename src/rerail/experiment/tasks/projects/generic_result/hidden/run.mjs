import assert from "node:assert/strict";
import { address } from "./address.js";
import { host, next } from "./free.js";
import { port } from "./port.js";

assert.deepEqual(port("80"), { ok: true, value: 80 });
assert.deepEqual(port("x"), { ok: false, error: "no port: x" });
assert.deepEqual(port("70000"), { ok: false, error: "no port: 70000" });
assert.deepEqual(address("a.org:443"), { ok: true, value: { host: "a.org", port: 443 } });
assert.deepEqual(address("a.org:x"), { ok: false, error: "no port: x" });
assert.equal(next("80"), 81);
assert.equal(next("x"), 0);
assert.equal(host("a.org:443"), "a.org");
assert.equal(host("a.org:x"), "? no port: x");
