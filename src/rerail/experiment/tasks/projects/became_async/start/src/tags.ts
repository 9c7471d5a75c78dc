import { load } from "./store.js";

/** Every tag once, in order. */
export function tags() {
  return [...new Set(load().flatMap((note) => note.tags))].sort();
}
