const crypto = require("crypto"), fs = require("fs"), util = require("util"), vm = require("vm");
// Node puts a name of its own into this message.
const unnamed = (error) => error.message.replace(/(?<=none.here.)\w{6}/, "");
const failing = (run) => { try { return [run()]; } catch (error) {
  return [error.name, error.code, unnamed(error)]; } };
const about = (owner, name) => { const { value, ...rest } = Object.getOwnPropertyDescriptor(owner, name);
  return [name, rest, typeof value, value && [value.name, value.length, Reflect.ownKeys(value).map(String)]]; };
class Sub extends Date { constructor() { super(2020, 1, 2); } }
console.log(util.inspect([
  Object.keys(globalThis), Reflect.ownKeys(Error).map(String), Error.stackTraceLimit,
  Object.keys(require.cache), process.listenerCount("exit"), process.eventNames(),
  about(globalThis, "Date"), ...["now", "parse", "prototype"].map((name) => about(Date, name)),
  about(Date.prototype, "constructor"), about(Math, "random"),
  ...["randomBytes", "randomFill", "randomFillSync", "randomInt", "randomUUID"].map((name) => about(crypto, name)),
  ...["randomUUID", "getRandomValues"].map((name) => about(Crypto.prototype, name)),
  ...["mkdtemp", "mkdtempSync"].map((name) => about(fs, name)), about(fs.promises, "mkdtemp"),
  about(Intl.DateTimeFormat.prototype, "format"), about(Intl.DateTimeFormat.prototype, "formatToParts"),
  about(Performance.prototype, "timeOrigin"),
  Date, new Date(0), new Date(NaN), new Date(2020, 1), new Date("2020-02-03"), new Date(new Date(5)),
  new Date(undefined), Date(1) === Date(), Date.length, Date.UTC(2020), new Sub(), new Sub().constructor.name,
  new Date() instanceof Date, new Sub() instanceof Date, util.types.isDate(new Date()),
  structuredClone(new Date()) instanceof Date, Date.prototype.isPrototypeOf(new Date()),
  new Date().constructor === Date, Object.prototype.toString.call(new Date()),
  Reflect.construct(Date, [0], Array) instanceof Array, Number.isInteger(Date.now()),
  /native code/.test(String(Date)), /native code/.test(Date.now.toString()),
  /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()),
  failing(() => new Date.now()), failing(() => new Math.random()), failing(() => Date.prototype.getTime.call({})),
  failing(() => crypto.randomBytes(-1)), failing(() => crypto.randomBytes("a")), failing(() => crypto.randomInt("x")),
  failing(() => crypto.randomInt(5, 2)), failing(() => crypto.randomFillSync([])),
  failing(() => crypto.randomFillSync(Buffer.alloc(2), 9)), failing(() => crypto.randomUUID(1)),
  failing(() => Crypto.prototype.getRandomValues.call({}, Buffer.alloc(1))),
  failing(() => crypto.getRandomValues(new Float32Array(1))), failing(() => fs.mkdtempSync("none/here/")),
  failing(() => fs.mkdtempSync("a\0b")), failing(() => fs.mkdtempSync(5)), failing(() => fs.mkdtemp("x")),
  failing(() => new Intl.DateTimeFormat("en").format(NaN)), new Intl.DateTimeFormat("en").format(0),
  failing(() => Intl.DateTimeFormat.prototype.format), new Intl.DateTimeFormat("en").formatToParts(0),
  (() => { const { format } = new Intl.DateTimeFormat("en"); return [format(0), format.name, format.length]; })(),
  Object.keys(vm.createContext({ a: 1 })), vm.isContext(vm.createContext()),
  vm.runInNewContext("new Date(0) instanceof Date", Object.freeze({})),
  vm.runInNewContext("Date", { Date: 7 }), vm.runInNewContext("a + 1", { a: 1 }),
], { depth: 9, maxArrayLength: 999, maxStringLength: 999 }));
fs.promises.mkdtemp("none/here/").catch((error) => console.log(unnamed(error)));
fs.mkdtemp("none/here/", (error) => console.log(unnamed(error)));
