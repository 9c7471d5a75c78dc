import type { Config } from "./config.js";

/** `localhost:8080, 3 retries` */
export function describe(config: Config): string {
  return `${config.host}:${config.port}, ${config.retries} retries`;
}
