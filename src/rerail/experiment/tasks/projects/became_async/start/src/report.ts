import { hasTag } from "./has.js";
import { load } from "./store.js";

/** `2 notes, longest 15`, or `no notes`. */
export function report() {
  if (!load()) return "no notes";
  const longest = Math.max(...load().map((note) => note.text.length));
  return `${load().length} notes, longest ${longest}`;
}

/** `yes` or `no`. */
export function answer(tag: string) {
  return hasTag(tag) ? "yes" : "no";
}
