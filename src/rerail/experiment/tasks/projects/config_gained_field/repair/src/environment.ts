import type { Config } from "./config.js";
import { defaults } from "./defaults.js";

/** A config from HOST, PORT and so on; what is not there, or is no number, is as by default. */
export function fromEnvironment(environment: Record<string, string | undefined>): Config {
  return {
    host: environment["HOST"] ?? defaults.host,
    port: number(environment["PORT"]) ?? defaults.port,
    retries: number(environment["RETRIES"]) ?? defaults.retries,
  };
}

function number(text: string | undefined): number | undefined {
  const found = Number(text ?? "x");
  return Number.isNaN(found) ? undefined : found;
}
