/**
 * The contexts of `vm` have a `Date` and a `Math` of their own (jest runs its tests in one).
 *
 * They are changed like the main ones, once a context has been made.
 */
"use strict";

const vm = require("vm");
const { installIn } = require("./realm.cjs");
const { replace } = require("./replace.cjs");

const { createContext, isContext, Script } = vm;
const runInContext = Script.prototype.runInContext;

function hookRealms(time, random) {
  let script = null;
  const changed = new WeakSet();
  const change = (context) => {
    if (changed.has(context)) return context;
    changed.add(context);
    try {
      script ||= new Script(`[globalThis, ${installIn}]`, { filename: "node:vm" });
      const [realm, install] = Reflect.apply(runInContext, script, [context]);
      const ownDate = realm !== context && Object.hasOwn(context, "Date");
      install(realm, ownDate ? null : time, random);
    } catch {
      // A context that allows no change keeps its own clock.
    }
    return context;
  };
  replace(vm, "createContext", (native, self, args) => change(Reflect.apply(native, self, args)));
  const inNew = (place) => (native, self, args) => {
    const given = args[place];
    if (given === undefined || (given !== null && typeof given === "object" && !isContext(given))) {
      args[place] = change(createContext(given, contextOptions(args[place + 1])));
    }
    return Reflect.apply(native, self, args);
  };
  replace(vm, "runInNewContext", inNew(1));
  replace(Script.prototype, "runInNewContext", inNew(0));
}

/** What `runInNewContext` calls the options of `createContext`. */
function contextOptions(options) {
  if (options === null || typeof options !== "object") return {};
  const { contextName, contextOrigin, contextCodeGeneration, microtaskMode } = options;
  const codeGeneration = contextCodeGeneration;
  const all = { name: contextName, origin: contextOrigin, codeGeneration, microtaskMode };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

module.exports = { hookRealms };
