import type { Contact } from "./contact.js";

/** `mailto:` and the address. */
export function mailto(address: string): string {
  return `mailto:${address}`;
}

/** The link to write to a contact, in lower case; empty where there is no email. */
export function link(contact: Contact): string {
  return mailto(contact.email).toLowerCase();
}

/** The part after the `@`; empty where there is no email or no such part. */
export function domain(contact: Contact): string {
  return contact.email.split("@")[1] ?? "";
}
