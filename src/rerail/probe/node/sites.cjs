/**
 * Where in the agent's code a value is asked for, as a text that edits elsewhere do not change.
 *
 * Base name, function and the text of the line, never its number. In a package that many call (one
 * that makes ids or formats dates), whoever called the package belongs to it. A text is made once for
 * each place; after that a look-up by file and position is all.
 */
"use strict";

const { createHash } = require("crypto");
const { readFileSync } = require("fs");
const { findSourceMap } = require("module");

const TheError = Error;
const captureStackTrace = Error.captureStackTrace;
const asFrames = (_, frames) => frames;

const DEEP_ENOUGH = 32;
const THROUGH_A_PACKAGE = 12;
const IN_A_PACKAGE = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+\//;
const LONG_LINE = 200;
const AROUND = 30;

class Site {
  constructor(text) {
    this.text = text;
    this.declared = 0;
    this.turn = -1;
    this.times = 0;
    this.draws = 0;
    this.random = null;
    this.streams = null;
    this.recorded = null;
    this.callers = null;
  }

  /** Counts begin again with each turn. */
  enter(turn) {
    if (this.turn === turn) return this;
    this.turn = turn;
    this.times = 0;
    this.draws = 0;
    this.random = null;
    this.streams = null;
    return this;
  }
}

/** The sites in one file by their positions, and the folder of the package that it belongs to. */
class Places {
  constructor(file) {
    this.file = file;
    this.sites = new Map();
    this.folder = (IN_A_PACKAGE.exec(file) || [""])[0];
  }

  static of(file, files) {
    let places = files.get(file);
    if (!places) files.set(file, (places = new Places(file)));
    return places;
  }
}

class Sites {
  constructor() {
    this.files = new Map();
    this.byText = new Map();
    this.file = "";
    this.source = "";
  }

  /** The site of the innermost frame outside Node itself, below the call of `hook`. */
  below(hook) {
    let frame = framesBelow(hook, 1)[0];
    let file = frame ? fileOf(frame) : null;
    if (file === null) {
      frame = framesBelow(hook, DEEP_ENOUGH).find((one) => fileOf(one) !== null);
      if (!frame) return this.named("-");
      file = fileOf(frame);
    }
    const places = Places.of(file, this.files);
    const site = this.at(frame, places, "");
    return places.folder ? this.calledFrom(site, hook, places.folder) : site;
  }

  at(frame, places, before) {
    const position = frame.getPosition();
    let site = places.sites.get(position);
    if (!site) {
      site = this.named(before + this.describe(places.file, frame));
      places.sites.set(position, site);
    }
    return site;
  }

  calledFrom(site, hook, folder) {
    const outside = (frame) => fileOf(frame) !== null && !fileOf(frame).startsWith(folder);
    const caller = framesBelow(hook, THROUGH_A_PACKAGE).find(outside);
    if (!caller) return site;
    const files = site.callers || (site.callers = new Map());
    return this.at(caller, Places.of(fileOf(caller), files), `${site.text} < `);
  }

  named(text) {
    let site = this.byText.get(text);
    if (!site) this.byText.set(text, (site = new Site(text)));
    return site;
  }

  describe(file, frame) {
    // A module that is loaded anew has another query each time.
    const base = file.slice(file.lastIndexOf("/") + 1).replace(/[?#].*/, "");
    const line = this.lineAt(file, ...placeOf(file, frame));
    const mark = line ? createHash("sha256").update(line).digest("hex").slice(0, 8) : "-";
    return `${base}:${frame.getFunctionName() || ""}:${mark}`.replace(/[\t\n]/g, " ");
  }

  lineAt(file, number, column) {
    const line = nthLine(this.sourceOf(file), number);
    return line.length <= LONG_LINE
      ? line.trim()
      : line.slice(Math.max(0, column - 1 - AROUND), column - 1 + AROUND);
  }

  /** New sites come file by file, so the last one is worth keeping and no more. */
  sourceOf(file) {
    if (file !== this.file) {
      this.file = file;
      this.source = readSource(file);
    }
    return this.source;
  }
}

/** Nothing where an agent has frozen `Error`: then the order within a turn is all that tells. */
function framesBelow(hook, limit) {
  const { stackTraceLimit, prepareStackTrace } = TheError;
  try {
    TheError.prepareStackTrace = asFrames;
    TheError.stackTraceLimit = limit;
  } catch {
    return [];
  }
  try {
    const holder = {};
    captureStackTrace(holder, hook);
    return Array.isArray(holder.stack) ? holder.stack : [];
  } finally {
    TheError.stackTraceLimit = stackTraceLimit;
    TheError.prepareStackTrace = prepareStackTrace;
  }
}

/** Line and column, from 1; in the text as written where it was translated and the map is known. */
function placeOf(file, frame) {
  const [line, column] = [frame.getLineNumber(), frame.getColumnNumber()];
  const map = findSourceMap(file);
  const { originalLine, originalColumn } = map ? map.findEntry(line - 1, column - 1) : {};
  return originalLine === undefined ? [line, column] : [originalLine + 1, originalColumn + 1];
}

/** The file of a frame; null for Node's own code and for what is built into the language. */
function fileOf(frame) {
  const file = frame.getFileName();
  if (file) return file.startsWith("node:") ? null : file;
  return frame.isEval() ? "eval" : null;
}

function readSource(file) {
  if (file === "[eval]") return process._eval || "";
  try {
    return readFileSync(file.startsWith("file:") ? new URL(file) : file, "utf8");
  } catch {
    return "";
  }
}

function nthLine(text, number) {
  let start = 0;
  for (let line = 1; line < number; line++) {
    start = text.indexOf("\n", start) + 1;
    if (start === 0) return "";
  }
  const end = text.indexOf("\n", start);
  return end < 0 ? text.slice(start) : text.slice(start, end);
}

module.exports = { Sites, Site };
