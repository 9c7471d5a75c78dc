/**
 * Node's `crypto`, as far as it makes up values: entropy is kept, uuids come from the seed.
 *
 * Each function is a proxy of Node's own, which still checks what it is given and fails as ever.
 */
"use strict";

const { Buffer } = require("buffer");
const crypto = require("crypto");
const { Meter } = require("./given.cjs");
const { replace } = require("./replace.cjs");

const { randomFillSync, randomInt } = crypto;

function hookCrypto(given) {
  const meter = new Meter("random values");
  const at = (hook) => given.at(hook, meter);
  const kept = { given, at };
  replace(crypto, "randomBytes", bytesHook(kept));
  replace(crypto, "randomFillSync", fillSyncHook(kept, filledBytes));
  replace(crypto, "randomFill", fillHook(kept));
  replace(crypto, "randomInt", intHook(kept));
  replace(crypto, "randomUUID", uuidHook(kept));
  if (crypto.webcrypto) hookWebCrypto(kept, Object.getPrototypeOf(crypto.webcrypto));
}

function hookWebCrypto(kept, prototype) {
  replace(prototype, "randomUUID", uuidHook(kept));
  replace(prototype, "getRandomValues", fillSyncHook(kept, ([array]) => filledBytes([array])));
}

function bytesHook({ given, at }) {
  return function apply(native, self, args) {
    if (typeof args[1] !== "function") {
      const bytes = Reflect.apply(native, self, args);
      given.entropy(at(apply), bytes);
      return bytes;
    }
    const site = at(apply);
    let drawn;
    const done = function (error, bytes) {
      if (!error) bytes.set(drawn);
      return Reflect.apply(args[1], this, arguments);
    };
    const result = Reflect.apply(native, self, [args[0], done]);
    // The order of the calls is the order on the tape, so the values are drawn now.
    drawn = randomFillSync(Buffer.alloc(args[0]));
    given.entropy(site, drawn);
    return result;
  };
}

function fillSyncHook({ given, at }, bytesOf) {
  return function apply(native, self, args) {
    const filled = Reflect.apply(native, self, args);
    given.entropy(at(apply), bytesOf(args));
    return filled;
  };
}

function fillHook({ given, at }) {
  return function apply(native, self, args) {
    const callback = args[args.length - 1];
    if (typeof callback !== "function") return Reflect.apply(native, self, args);
    const site = at(apply);
    const region = args.slice(0, -1);
    let drawn;
    const done = function (error) {
      if (!error) filledBytes(region).set(drawn);
      return Reflect.apply(callback, this, arguments);
    };
    const result = Reflect.apply(native, self, [...region, done]);
    drawn = randomFillSync(Buffer.alloc(filledBytes(region).length));
    given.entropy(site, drawn);
    return result;
  };
}

/** The bytes of `(buffer, offset, size)`, which Node counts in elements. */
function filledBytes([target, offset = 0, size]) {
  const width = target.BYTES_PER_ELEMENT || 1;
  const bytes = ArrayBuffer.isView(target)
    ? new Uint8Array(target.buffer, target.byteOffset, target.byteLength)
    : new Uint8Array(target);
  const start = offset * width;
  return bytes.subarray(start, size === undefined ? undefined : start + size * width);
}

function intHook({ given, at }) {
  return function apply(native, self, args) {
    const callback = args[args.length - 1];
    if (typeof callback !== "function") {
      return settled(given, at(apply), args, Reflect.apply(native, self, args));
    }
    const range = args.slice(0, -1);
    const site = at(apply);
    let drawn;
    const done = function (error) {
      return error ? Reflect.apply(callback, this, arguments) : callback.call(this, error, drawn);
    };
    const result = Reflect.apply(native, self, [...range, done]);
    drawn = settled(given, site, range, randomInt(...range));
    return result;
  };
}

/** An integer travels as the eight bytes of its distance from the lower end. */
function settled(given, site, range, value) {
  const [low, high] = typeof range[1] === "number" ? range : [0, range[0]];
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value - low));
  given.entropy(site, bytes);
  return low + Number(bytes.readBigUInt64BE() % BigInt(high - low));
}

function uuidHook({ given, at }) {
  return function apply(native, self, args) {
    const own = Reflect.apply(native, self, args);
    const site = at(apply);
    try {
      return given.page.live ? own : uuid4(given.derived(site, "uuid4", 16));
    } catch {
      return own;
    }
  };
}

/** RFC 9562, section 5.4. */
function uuid4(bytes) {
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const text = bytes.toString("hex");
  const ends = [0, 8, 12, 16, 20, 32];
  return ends.slice(1).map((end, n) => text.slice(ends[n], end)).join("-");
}

/** `Math.random` for a site: a small fast generator (sfc32), sown from the seed once a turn. */
function randomOf(given) {
  const native = Math.random;
  const meter = new Meter("random values");
  return (hook) => {
    const site = given.at(hook, meter);
    if (given.page.live) return native();
    return (site.random || (site.random = sfc32(given.derived(site, "Math.random", 16))))();
  };
}

function sfc32(sown) {
  let [a, b, c, counter] = [0, 4, 8, 12].map((place) => sown.readInt32LE(place));
  const next = () => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 0;
  };
  return () => (next() * 0x200000 + (next() >>> 11)) / 0x20000000000000;
}

module.exports = { hookCrypto, randomOf };
