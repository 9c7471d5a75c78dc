import { load } from "./store.js";

/** Every tag once, in order. */
export async function tags() {
  return [...new Set((await load()).flatMap((note) => note.tags))].sort();
}
