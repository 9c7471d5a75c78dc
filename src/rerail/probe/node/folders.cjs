/**
 * The names of `fs.mkdtemp`: from the seed, where Node would take them from libc.
 *
 * A folder that cannot be made like this is left to Node, which then fails in its own words.
 */
"use strict";

const fs = require("fs");
const { replace } = require("./replace.cjs");

const { mkdir, mkdirSync } = fs;
const mkdirSoon = fs.promises.mkdir;
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const TRIES = 100;

function hookFolders(given) {
  const meter = { kind: "random", turn: -1, asked: 0 };
  const namesAt = (hook, args) => names(given, given.at(hook, meter), args);
  replace(fs, "mkdtempSync", syncHook(namesAt));
  replace(fs, "mkdtemp", callbackHook(namesAt));
  replace(fs.promises, "mkdtemp", promiseHook(namesAt));
}

/** Gives one name after the other, or nothing more: then it is Node's turn. */
function names(given, site, [prefix, options]) {
  const encoding = options && typeof options === "object" ? options.encoding : options;
  const plain = typeof prefix === "string" && !prefix.endsWith("X");
  const text = typeof encoding !== "string" || /^utf-?8$/i.test(encoding);
  let left = plain && text && !given.page.live ? TRIES : 0;
  return () => (left-- > 0 ? prefix + sixLetters(given.derived(site, "mkdtemp", 6)) : null);
}

function sixLetters(bytes) {
  return Array.from(bytes, (byte) => LETTERS[byte % LETTERS.length]).join("");
}

function syncHook(namesAt) {
  return function apply(native, self, args) {
    const next = namesAt(apply, args);
    for (let path = next(); path !== null; path = next()) {
      try {
        mkdirSync(path, 0o700);
        return path;
      } catch (error) {
        if (error.code !== "EEXIST") break;
      }
    }
    return Reflect.apply(native, self, args);
  };
}

function callbackHook(namesAt) {
  return function apply(native, self, args) {
    const callback = args[args.length - 1];
    if (typeof callback !== "function") return Reflect.apply(native, self, args);
    const next = namesAt(apply, args.slice(0, -1));
    const attempt = (path) => {
      if (path === null) return Reflect.apply(native, self, args);
      mkdir(path, 0o700, (error) => {
        if (!error) callback(null, path);
        else attempt(error.code === "EEXIST" ? next() : null);
      });
    };
    const first = next();
    if (first === null || first.includes("\0")) return Reflect.apply(native, self, args);
    attempt(first);
  };
}

function promiseHook(namesAt) {
  return function apply(native, self, args) {
    const next = namesAt(apply, args);
    const attempt = async (path) => {
      if (path === null) return Reflect.apply(native, self, args);
      try {
        await mkdirSoon(path, 0o700);
        return path;
      } catch (error) {
        return attempt(error.code === "EEXIST" ? next() : null);
      }
    };
    return attempt(next());
  };
}

module.exports = { hookFolders };
