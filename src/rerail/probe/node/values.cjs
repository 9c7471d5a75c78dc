/** Puts the recorder's values behind Node's clock and its randomness, in this process. */
"use strict";

const { syncBuiltinESMExports } = require("module");

const { hookFolders } = require("./folders.cjs");
const { Given, Meter } = require("./given.cjs");
const { Page } = require("./page.cjs");
const { hookCrypto, randomOf } = require("./random.cjs");
const { installIn } = require("./realm.cjs");
const { hookRealms } = require("./realms.cjs");
const { Run } = require("./run.cjs");

const nativeNow = Date.now;
const nativeRandom = Math.random;

/** Join the run of `folder`, and give its `Run`. Throws, having changed nothing, if it cannot. */
function join(folder) {
  const run = new Run(folder);
  const page = new Page(run);
  run.relabel();
  hook(new Given(run, page), run.settings);
  tellOfChildren(run);
  tellOfWritten(run);
  return run;
}

/** Each for itself: what an agent's options have frozen stays as it is, and is said. */
function hook(given, settings) {
  const time = settings.clock ? softly(clockOf(given), nativeNow) : null;
  const random = settings.random ? softly(randomOf(given), nativeRandom) : null;
  const changes = [
    () => installIn(globalThis, time, random),
    () => hookRealms(time, random),
    ...(time ? [() => hookTimeOrigin(given)] : []),
    ...(random ? [() => hookCrypto(given), () => hookFolders(given)] : []),
    syncBuiltinESMExports,
  ];
  for (const change of changes) {
    try {
      change();
    } catch (error) {
      given.miss("clock and random of a Node", error.message);
    }
  }
}

/** A Node that does not let its own parts be changed starts its children untold. */
function tellOfChildren(run) {
  try {
    require("./children.cjs").install(run);
  } catch (error) {
    run.write(`missing\tchildren are not recorded\t${String(error).split("\n")[0]}\n`);
  }
}

/** In a recording, where this is part of a child. */
function tellOfWritten(run) {
  const { children, mode } = run.settings;
  if (!children || mode !== "record" || !process.env.RERAIL_INSIDE) return;
  try {
    require("./written.cjs").install(run);
  } catch (error) {
    run.write(`missing\twhat a child writes is not noticed\t${String(error).split("\n")[0]}\n`);
  }
}

function clockOf(given) {
  const meter = new Meter("times");
  return (hook) => given.time(given.at(hook, meter));
}

/** Whatever goes wrong in here, the agent gets a value. */
function softly(ask, native) {
  return (hook) => {
    try {
      return ask(hook);
    } catch {
      return native();
    }
  };
}

function hookTimeOrigin(given) {
  const prototype = Object.getPrototypeOf(performance);
  const { get, ...rest } = Object.getOwnPropertyDescriptor(prototype, "timeOrigin");
  const sinceStart = performance.now.bind(performance);
  const apply = (native, self, args) => {
    const own = Reflect.apply(native, self, args);
    return (origin ??= given.moment("performance:timeOrigin:-", () =>
      given.replaying ? given.virtual() - sinceStart() : own,
    ));
  };
  let origin;
  Object.defineProperty(prototype, "timeOrigin", { ...rest, get: new Proxy(get, { apply }) });
}

module.exports = { join };
