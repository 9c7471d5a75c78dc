/** A function is replaced by a proxy of itself: name, length, properties and errors stay Node's. */
"use strict";

/** `apply` is the proxy's trap: (the function, its `this`, its arguments). */
function replace(owner, name, apply) {
  const native = owner[name];
  const descriptor = Object.getOwnPropertyDescriptor(owner, name);
  if (typeof native !== "function" || !descriptor.configurable) return;
  Object.defineProperty(owner, name, { ...descriptor, value: new Proxy(native, { apply }) });
}

module.exports = { replace };
