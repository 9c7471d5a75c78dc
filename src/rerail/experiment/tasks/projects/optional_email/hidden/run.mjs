import assert from "node:assert/strict";
import { createContact } from "./create.js";
import { domain, link, mailto } from "./mail.js";
import { setEmail } from "./update.js";

const ada = createContact("Ada", "Ada@Example.org");
const bob = createContact("Bob", undefined);
assert.deepEqual(ada, { name: "Ada", email: "Ada@Example.org" });
assert.deepEqual(Object.keys(bob), ["name"]);
assert.equal(mailto("x@y"), "mailto:x@y");
assert.equal(link(ada), "mailto:ada@example.org");
assert.equal(link(bob), "");
assert.equal(domain(ada), "Example.org");
assert.equal(domain(bob), "");
setEmail(bob, "bob@example.org");
assert.equal(bob.email, "bob@example.org");
setEmail(bob, undefined);
assert.deepEqual(Object.keys(bob), ["name"]);

console.log(process.argv[2]);
