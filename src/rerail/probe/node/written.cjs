/**
 * What children write where no snapshot looks: how the paths stand that their words name, and, in a
 * Node that is part of a child, each path that is opened for writing.
 *
 * The recorder looks at them again when the child has ended. The same as `_rerail_written`.
 */
"use strict";

const fs = require("fs");
const { syncBuiltinESMExports } = require("module");
const { join, normalize, isAbsolute, resolve } = require("path");
const { fileURLToPath } = require("url");
const { replace } = require("./replace.cjs");

const { lstatSync } = fs;

const MOST_NAMED = 32;
const NOWHERE = /^\/(dev|proc|sys)\//;
const SEPARATORS = /['"`<>|&;()=,:\s]+/;
const STICKY = 0o1000n;
const MOST_WRITTEN = 1000;
const { O_CREAT, O_RDWR, O_TRUNC, O_WRONLY } = fs.constants;
const WRITING = O_CREAT | O_RDWR | O_TRUNC | O_WRONLY;

/** Which argument of what is a path that is there afterwards; of `open` only where it is written. */
const WRITERS = { writeFile: 0, appendFile: 0, mkdir: 0, rename: 1, copyFile: 1, symlink: 1, link: 1 };

function named(words, folder) {
  const found = { [folder]: stamp(folder) };
  let count = 1;
  for (const word of words.join(" ").split(SEPARATORS)) {
    if (count >= MOST_NAMED) break;
    if (!word.includes("/") || word.startsWith("-")) continue;
    const text = expanded(word);
    const path = normalize(isAbsolute(text) ? text : join(folder, text)).replace(/(.)\/$/, "$1");
    if (path in found || NOWHERE.test(path)) continue;
    found[path] = stamp(path);
    count += 1;
  }
  return Object.fromEntries(Object.entries(found).filter(([, state]) => state !== "other"));
}

/** As a shell would write it, as far as a place goes. */
function expanded(word) {
  const match = /^(?:~|\$(HOME|TMPDIR)|\$\{(HOME|TMPDIR)\})(?=\/)/.exec(word);
  if (!match) return word;
  return (process.env[match[1] || match[2] || "HOME"] || "") + word.slice(match[0].length);
}

function stamp(path) {
  let found;
  try {
    found = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    return "";
  }
  if (!found) return "";
  if (found.isDirectory()) return found.mode & STICKY ? "other" : `${found.mtimeNs}`;
  if (!found.isFile() && !found.isSymbolicLink()) return "other";
  return `${found.ino}.${found.size}.${found.mtimeNs}.${found.ctimeNs}`;
}

/** In a recording, have a Node that is part of a child tell what it writes. */
function install(run) {
  const told = new Set();
  const tell = (path) => {
    try {
      const whole = resolve(path instanceof URL ? fileURLToPath(path) : String(path));
      if (typeof path === "number" || told.has(whole) || told.size === MOST_WRITTEN) return;
      if (NOWHERE.test(whole) || whole.startsWith(run.folder)) return;
      told.add(whole);
      run.write(`wrote\t${JSON.stringify(whole)}\n`);
    } catch {
      // What is no path is for Node to say.
    }
  };
  for (const [owner, end] of [[fs, ""], [fs, "Sync"], [fs.promises, ""]]) {
    replace(owner, `open${end}`, (native, self, args) => {
      if (isWriting(args[1])) tell(args[0]);
      return Reflect.apply(native, self, args);
    });
    for (const [name, at] of Object.entries(WRITERS)) {
      replace(owner, `${name}${end}`, (native, self, args) => {
        tell(args[at]);
        return Reflect.apply(native, self, args);
      });
    }
  }
  syncBuiltinESMExports();
}

function isWriting(flags) {
  return typeof flags === "number" ? (flags & WRITING) !== 0 : /[wa+]/.test(flags || "");
}

module.exports = { install, named };
