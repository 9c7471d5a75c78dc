const test = require("node:test");
const Native = Date, now = Date.now;
Date.now = () => 5;
const told = [Date.now()];
Date.now = now;
globalThis.Date = class extends Native { constructor(...given) { super(...(given.length ? given : [7])); } };
told.push(+new Date(), new Date() instanceof Date, Date.now() > 9);
globalThis.Date = Native;
const real = Math.random;
Math.random = () => 0.5;
told.push(Math.random());
Math.random = real;
if (test.mock.timers) {
  try { test.mock.timers.enable({ apis: ["Date", "setTimeout"], now: 99 }); } catch { test.mock.timers.enable(["setTimeout"]); }
  if (+new Date() === 99) { test.mock.timers.tick(1); told.push(Date.now(), +new Date(), new Date() instanceof Native); }
  test.mock.timers.reset();
}
console.log(told.join(), Date === Native, Date.now === now, Date.now() > 1e12);
