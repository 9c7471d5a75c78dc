import { address } from "./address.js";
import { port } from "./port.js";

/** The next port after this one; 0 where the text is no port. */
export function next(text: string): number {
  const found = port(text);
  return found.ok ? found.value + 1 : 0;
}

/** The host of an address, or `?` and the error. */
export function host(text: string): string {
  const found = address(text);
  return found.ok ? found.value.host : `? ${found.error}`;
}
