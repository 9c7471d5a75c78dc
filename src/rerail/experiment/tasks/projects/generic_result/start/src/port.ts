import { failure, type Result } from "./result.js";

/** A port from its text; the error names the text that is none. */
export function port(text: string): Result<number, string> {
  const found = Number(text);
  if (!Number.isInteger(found) || found < 1 || found > 65535) return failure(`no port: ${text}`);
  return found;
}
