import type { Contact } from "./contact.js";

/** A contact; without an email it has no such field. */
export function createContact(name: string, email: string | undefined): Contact {
  return email === undefined ? { name } : { name, email };
}
