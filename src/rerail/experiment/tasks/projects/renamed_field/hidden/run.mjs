import assert from "node:assert/strict";
import { createUser } from "./create.js";
import { byName, entry } from "./directory.js";
import { firstWord, greeting } from "./greeting.js";

const ada = createUser(1, "  Ada Lovelace ", "ada@example.org");
const bob = createUser(2, "Bob", "bob@example.org");
assert.deepEqual(ada, { id: 1, fullName: "Ada Lovelace", email: "ada@example.org" });
assert.equal(greeting(ada), "Hello, Ada Lovelace!");
assert.equal(firstWord(ada), "Ada");
const given = [bob, ada];
assert.deepEqual(byName(given), [ada, bob]);
assert.deepEqual(given, [bob, ada]);
assert.equal(entry({ name: "staff" }, bob), "staff: bob@example.org");
