import { address } from "./address.js";
import { port } from "./port.js";

/** The next port after this one; 0 where the text is no port. */
export function next(text: string): number {
  return port(text) + 1;
}

/** The host of an address, or `?` and the error. */
export function host(text: string): string {
  const found = address(text);
  return found.value.host;
}
