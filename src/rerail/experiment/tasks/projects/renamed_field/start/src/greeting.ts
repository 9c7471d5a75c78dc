import type { User } from "./user.js";

/** `Hello, Ada Lovelace!` */
export function greeting(user: User): string {
  return `Hello, ${user.name}!`;
}

/** The first word of the name. */
export function firstWord(user: User): string {
  return user.name.split(" ")[0] ?? "";
}
