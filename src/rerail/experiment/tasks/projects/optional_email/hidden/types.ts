import type { Contact } from "../contact.js";
import { createContact } from "../create.js";
import { domain, link, mailto } from "../mail.js";
import { setEmail } from "../update.js";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const holds = <T extends true>(): T | undefined => undefined;

holds<Same<typeof createContact, (name: string, email: string | undefined) => Contact>>();
holds<Same<typeof setEmail, (contact: Contact, email: string | undefined) => void>>();
holds<Same<typeof mailto, (address: string) => string>>();
holds<Same<typeof link, (contact: Contact) => string>>();
holds<Same<typeof domain, (contact: Contact) => string>>();
holds<Same<Contact, { name: string; email?: string }>>();
