/** Puts the recorder's values behind Node's clock and its randomness, in this process. */
"use strict";

const { Given, Meter } = require("./given.cjs");
const { Page } = require("./page.cjs");
const { Run } = require("./run.cjs");
const { installIn } = require("./realm.cjs");

const nativeNow = Date.now;
const nativeRandom = Math.random;

/** Join the run of `folder`, and give its `Run`. Throws, having changed nothing, if it cannot. */
function join(folder) {
  const run = new Run(folder);
  const page = new Page(run);
  run.relabel();
  hook(new Given(run, page), run.settings);
  return run;
}

function hook(given, settings) {
  const time = settings.clock ? softly(clockOf(given), nativeNow) : null;
  const random = settings.random ? softly(require("./random.cjs").randomOf(given), nativeRandom) : null;
  installIn(globalThis, time, random);
  require("./realms.cjs").hookRealms(time, random);
  if (time) hookTimeOrigin(given);
  if (random) {
    require("./random.cjs").hookCrypto(given);
    require("./folders.cjs").hookFolders(given);
  }
  require("module").syncBuiltinESMExports();
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
