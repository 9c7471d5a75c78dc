import type { User } from "./user.js";

/** A new user, the name without white space around it. */
export function createUser(id: number, name: string, email: string): User {
  return { id, name: name.trim(), email };
}
