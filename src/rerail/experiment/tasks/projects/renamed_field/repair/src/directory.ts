import type { User } from "./user.js";

/** The users in the order of their names; the list given stays as it is. */
export function byName(users: readonly User[]): User[] {
  return [...users].sort((a, b) => a.fullName.localeCompare(b.fullName));
}

/** A list entry: the label of a list has a name of its own. */
export function entry(label: { name: string }, user: User): string {
  return `${label.name}: ${user.email}`;
}
