import { tags } from "./tags.js";

/** Whether a note has this tag. */
export function hasTag(tag: string) {
  return tags().includes(tag);
}
