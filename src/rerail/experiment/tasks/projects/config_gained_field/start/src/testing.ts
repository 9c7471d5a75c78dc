import type { Config } from "./config.js";

/** A config for tests. */
export function forTests(port: number): Config {
  return { host: "127.0.0.1", port };
}
