// Runs a hidden test, `__test__.mjs`, in a world that the code under test cannot bend; it alone
// knows the word that says the test is through. Node froze the intrinsics before (its own flag).
import assert from "node:assert/strict";
import process from "node:process";

const word = process.argv.pop();
const { stdout, stderr, exit } = process;
const say = stdout.write.bind(stdout);
const complain = stderr.write.bind(stderr);

// What leads to the end of the process and to modules of Node.
for (const name of ["process", "console"]) {
  delete globalThis[name];
}
for (const value of Object.values(assert)) {
  if (typeof value === "function") Object.freeze(value);
}
Object.freeze(assert);
for (const name of Reflect.ownKeys(globalThis)) {
  const { configurable, writable } = Object.getOwnPropertyDescriptor(globalThis, name);
  const fixed = writable ? { configurable: false, writable: false } : { configurable: false };
  if (configurable) Object.defineProperty(globalThis, name, fixed);
}

try {
  await import("./__test__.mjs");
} catch (error) {
  complain(`${error?.stack ?? error}\n`);
  exit(1);
}
say(`${word}\n`);
