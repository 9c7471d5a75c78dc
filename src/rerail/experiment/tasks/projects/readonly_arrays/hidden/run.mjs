import assert from "node:assert/strict";
import { add, clear } from "./change.js";
import { cheapestFirst } from "./order.js";
import { names, sum, total } from "./total.js";

const tea = { name: "tea", cents: 300 };
const bun = { name: "bun", cents: 120 };
const cart = Object.freeze({ items: Object.freeze([tea]) });
const more = add(cart, bun);
assert.deepEqual(more, { items: [tea, bun] });
assert.deepEqual(cart, { items: [tea] });
assert.deepEqual(clear(more), { items: [] });
assert.deepEqual(more, { items: [tea, bun] });
assert.deepEqual(cheapestFirst(more), [bun, tea]);
assert.deepEqual(names(more), ["tea", "bun"]);
assert.equal(sum([tea, tea]), 600);
assert.equal(total(more), 420);
