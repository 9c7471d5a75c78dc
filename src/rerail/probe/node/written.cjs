/**
 * What children may write where no snapshot looks: how the paths stand that their words name.
 *
 * The recorder looks at them again when the child has ended. The same as `_rerail_written`.
 */
"use strict";

const { lstatSync } = require("fs");
const { join, normalize, isAbsolute } = require("path");

const MOST_NAMED = 32;
const NOWHERE = /^\/(dev|proc|sys)\//;
const SEPARATORS = /['"`<>|&;()=,:\s]+/;
const STICKY = 0o1000n;

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

module.exports = { named };
