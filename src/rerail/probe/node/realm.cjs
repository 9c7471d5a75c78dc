/**
 * A realm's own `Date`, `Intl.DateTimeFormat` and `Math.random`, asking `time` and `random`.
 *
 * One function that closes over nothing, so that its source can be run in the realm of a vm context.
 * What it leaves behind looks like the language's own: bound functions show no source.
 */
"use strict";

/* `time(hook)` gives whole milliseconds, `random(hook)` a number from 0 to 1; null leaves it alone. */
function installIn(realm, time, random) {
  "use strict";
  const { apply, construct, defineProperty, getOwnPropertyDescriptor, ownKeys } = realm.Reflect;
  const { Date: Native, Intl, Math, Proxy, WeakMap } = realm;
  const bind = realm.Function.prototype.bind;

  if (time) {
    installDate();
    installFormat();
  }
  if (random) {
    const ask = () => random(ask);
    replace(Math, "random", posing(ask, Math.random));
  }

  function installDate() {
    const toString = Native.prototype.toString;
    function Given() {
      if (new.target === undefined) return apply(toString, new Native(time(Given)), []);
      const target = new.target === Given ? Native : new.target;
      return arguments.length === 0
        ? construct(Native, [time(Given)], target)
        : construct(Native, arguments, target);
    }
    // `instanceof` on a bound function asks the function that was bound.
    Given.prototype = Native.prototype;
    const now = () => time(now);
    const posed = posing(Given, Native);
    replace(posed, "now", posing(now, Native.now));
    replace(Native.prototype, "constructor", posed);
    replace(realm, "Date", posed);
  }

  function installFormat() {
    const prototype = Intl.DateTimeFormat.prototype;
    const { get, ...rest } = getOwnPropertyDescriptor(prototype, "format");
    const posed = new WeakMap();
    const getter = new Proxy(get, {
      apply(target, self, given) {
        const format = apply(target, self, given);
        if (!posed.has(format)) posed.set(format, formatNow(format));
        return posed.get(format);
      },
    });
    defineProperty(prototype, "format", { ...rest, get: getter });
    replace(prototype, "formatToParts", new Proxy(prototype.formatToParts, { apply: partsNow }));
  }

  function formatNow(format) {
    const ask = (date) => format(date === undefined ? time(ask) : date);
    return posing(ask, format);
  }

  function partsNow(target, self, given) {
    return apply(target, self, given[0] === undefined ? [time(partsNow)] : given);
  }

  function posing(replacement, original) {
    const posed = apply(bind, replacement, [undefined]);
    for (const key of ownKeys(original)) {
      defineProperty(posed, key, getOwnPropertyDescriptor(original, key));
    }
    return posed;
  }

  function replace(owner, name, value) {
    const { writable, enumerable, configurable } = getOwnPropertyDescriptor(owner, name);
    const changed = defineProperty(owner, name, { value, writable, enumerable, configurable });
    if (!changed) throw new TypeError(`Cannot redefine property: ${name}`);
  }
}

module.exports = { installIn };
