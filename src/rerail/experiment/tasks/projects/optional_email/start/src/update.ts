import type { Contact } from "./contact.js";

/** Change the email of this very contact; `undefined` takes it away. */
export function setEmail(contact: Contact, email: string | undefined): void {
  contact.email = email;
}
