/**
 * The names of `fs.mkdtemp`: from the seed, where Node would take them from libc.
 *
 * A folder that cannot be made like this is left to Node, which then fails in its own words. What a
 * recording left behind is taken over by its replay, where it is ours and empty, or only a copy.
 */
"use strict";

const fs = require("fs");
const { dirname } = require("path");
const { Meter } = require("./given.cjs");
const { replace } = require("./replace.cjs");

const { chmodSync, lstatSync, mkdir, mkdirSync, readdirSync, readFileSync, rmSync, statSync } = fs;
const mkdirSoon = fs.promises.mkdir;
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const TRIES = 100;

function hookFolders(given) {
  const meter = new Meter("temporary names");
  const namesAt = (hook, args) => {
    const next = names(given, given.at(hook, meter), args);
    const isDone = (error, path) => !error || (error.code === "EEXIST" && takenOver(given, path));
    return { next, isDone };
  };
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

function takenOver(given, path) {
  if (!given.replaying) return false;
  try {
    const found = lstatSync(path);
    let ours = found.isDirectory() && found.uid === process.geteuid();
    if (ours && readdirSync(path).length) {
      ours = isPrivate(given, path);
      if (ours) for (const name of readdirSync(path)) rmSync(`${path}/${name}`, { recursive: true });
    }
    if (ours) chmodSync(path, 0o700);
    else given.miss("a temporary folder has another name", `${path} is still there`);
    return ours;
  } catch {
    return false;
  }
}

/** Whether it is in a copy-on-write mount of the replay's (`rerail.sandbox.mounts`). */
function isPrivate(given, path) {
  const folders = given.run.settings.private || [];
  const folder = folders.find((one) => path.startsWith(`${one}/`));
  if (!folder || statSync(folder).dev !== statSync(dirname(path)).dev) return false;
  const lines = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  const ours = `upperdir=${folder}/upper`;
  return lines
    .map((line) => line.split(" "))
    .some((words) => words[4] === folder && words[words.length - 1].split(",").includes(ours));
}

function sixLetters(bytes) {
  return Array.from(bytes, (byte) => LETTERS[byte % LETTERS.length]).join("");
}

function syncHook(namesAt) {
  return function apply(native, self, args) {
    const { next, isDone } = namesAt(apply, args);
    for (let path = next(); path !== null; path = next()) {
      try {
        mkdirSync(path, 0o700);
        return path;
      } catch (error) {
        if (isDone(error, path)) return path;
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
    const { next, isDone } = namesAt(apply, args.slice(0, -1));
    const attempt = (path) => {
      if (path === null) return Reflect.apply(native, self, args);
      mkdir(path, 0o700, (error) => {
        if (isDone(error, path)) callback(null, path);
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
    const { next, isDone } = namesAt(apply, args);
    const attempt = async (path) => {
      if (path === null) return Reflect.apply(native, self, args);
      try {
        await mkdirSoon(path, 0o700);
        return path;
      } catch (error) {
        return isDone(error, path) ? path : attempt(error.code === "EEXIST" ? next() : null);
      }
    };
    return attempt(next());
  };
}

module.exports = { hookFolders };
