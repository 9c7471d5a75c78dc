import assert from "node:assert/strict";
import { cell, heading } from "./cells.js";
import { counts, largest } from "./count.js";
import { initials, lastWord } from "./words.js";

const table = [["name", "town"], ["Ada", "London"], ["Bob"]];
assert.equal(heading(table, 1), "town");
assert.equal(heading(table, 2), "");
assert.equal(heading([], 0), "");
assert.equal(cell(table, 1, 1), "London");
assert.equal(cell(table, 2, 1), "");
assert.equal(cell(table, 9, 0), "");
assert.equal(lastWord("to be or "), "or");
assert.equal(lastWord(""), "");
assert.equal(initials("ada  king lovelace"), "AKL");
assert.equal(initials(""), "");
assert.deepEqual({ ...counts(["a", "b", "a", "constructor"]) }, { a: 2, b: 1, constructor: 1 });
assert.equal(largest([]), 0);
assert.equal(largest([-3, -1, -2]), -1);
