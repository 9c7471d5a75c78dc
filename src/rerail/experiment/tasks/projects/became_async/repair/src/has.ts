import { tags } from "./tags.js";

/** Whether a note has this tag. */
export async function hasTag(tag: string) {
  return (await tags()).includes(tag);
}
