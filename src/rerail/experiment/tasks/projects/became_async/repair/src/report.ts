import { hasTag } from "./has.js";
import { load } from "./store.js";

/** `2 notes, longest 15`, or `no notes`. */
export async function report() {
  const notes = await load();
  if (notes.length === 0) return "no notes";
  const longest = Math.max(...notes.map((note) => note.text.length));
  return `${notes.length} notes, longest ${longest}`;
}

/** `yes` or `no`. */
export async function answer(tag: string) {
  return (await hasTag(tag)) ? "yes" : "no";
}
