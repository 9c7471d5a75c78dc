import { port } from "./port.js";
import { success, type Result } from "./result.js";

/** Where somebody listens. */
export interface Address {
  host: string;
  port: number;
}

/** An address from `host:port`; the error is that of the port. */
export function address(text: string): Result<Address, string> {
  const [host = "", rest = ""] = text.split(":");
  const found = port(rest);
  return found.ok ? success({ host, port: found.value }) : found;
}
