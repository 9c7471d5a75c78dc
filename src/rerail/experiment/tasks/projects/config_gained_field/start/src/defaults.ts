import type { Config } from "./config.js";

/** What holds where nothing is said. */
export const defaults: Config = { host: "localhost", port: 8080 };
