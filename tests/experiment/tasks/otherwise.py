"""Good repairs that are not the reference: other people repair otherwise, and are right too."""

OTHERWISE = {
    "became_async": {
        "src/tags.ts": """
import { load, type Note } from "./store.js";
export function tags(): Promise<string[]> {
  return load().then((notes: Note[]) => {
    const found = new Set<string>();
    for (const note of notes) note.tags.forEach((tag) => found.add(tag));
    return Array.from(found).sort();
  });
}
""",
        "src/has.ts": """
import { tags } from "./tags.js";
export const hasTag = (tag: string) => tags().then((all) => all.includes(tag));
""",
    },
    "config_gained_field": {
        "src/environment.ts": """
import type { Config } from "./config.js";
import { defaults } from "./defaults.js";
export function fromEnvironment(environment: Record<string, string | undefined>): Config {
  const config = { ...defaults };
  let port;
  if (environment.HOST !== undefined) config.host = environment.HOST;
  for (const [name, key] of [["PORT", "port"], ["RETRIES", "retries"]] as const) {
    port = Number.parseInt(environment[name] ?? "", 10);
    if (!Number.isNaN(port)) config[key] = port;
  }
  return config satisfies Config;
}
""",
    },
    "generic_result": {
        "src/address.ts": """
import { port } from "./port.js";
import { failure, success, type Result } from "./result.js";
export interface Address {
  host: string;
  port: number;
}
export function address(text: string): Result<Address, string> {
  const parts = text.split(":");
  const found = port(parts[1] ?? "");
  if (!found.ok) return failure(found.error);
  return success({ host: parts[0] ?? "", port: found.value });
}
""",
    },
    "new_union_member": {
        "src/corners.ts": """
import type { Shape } from "./shape.js";
const known = { circle: 0, square: 4, triangle: 3 } as const;
export function corners({ kind }: Shape): number {
  return known[kind];
}
""",
    },
    "optional_email": {
        "src/create.ts": """
import type { Contact } from "./contact.js";
export function createContact(name: string, email: string | undefined): Contact {
  return { name, ...(email !== undefined && { email }) };
}
""",
        "src/mail.ts": """
import type { Contact } from "./contact.js";
export function mailto(address: string): string {
  return `mailto:${address}`;
}
export function link({ email }: Contact): string {
  if (!email) return "";
  return mailto(email).toLowerCase();
}
export function domain(contact: Contact): string {
  const parts = (contact.email ?? "").split("@");
  return parts.length > 1 ? (parts[1] ?? "") : "";
}
""",
    },
    "readonly_arrays": {
        "src/order.ts": """
import type { Cart, Item } from "./cart.js";
export function cheapestFirst({ items }: Cart): readonly Item[] {
  const copy = items.slice();
  copy.sort((a, b) => a.cents - b.cents);
  return copy;
}
""",
        "src/total.ts": """
import type { Cart, Item } from "./cart.js";
export function sum(items: Item[]): number {
  let cents = 0;
  for (const item of items) cents += item.cents;
  return cents;
}
export const total = (cart: Cart): number => sum([...cart.items]);
export function names(cart: Cart): string[] {
  return Array.from(cart.items, (item) => item.name);
}
""",
    },
    "renamed_field": {
        "src/greeting.ts": """
import type { User } from "./user.js";
export const greeting = ({ fullName: name }: User): string => "Hello, " + name + "!";
export function firstWord(user: User): string {
  const [first] = user.fullName.split(" ");
  return first === undefined ? "" : first;
}
""",
    },
    "unchecked_index": {
        "src/count.ts": """
export function counts(words: readonly string[]): Record<string, number> {
  const found = new Map<string, number>();
  for (const word of words) found.set(word, (found.get(word) ?? 0) + 1);
  return Object.fromEntries(found);
}
export function largest(numbers: readonly number[]): number {
  const [first, ...rest] = numbers;
  if (first === undefined) return 0;
  return rest.reduce((most, each) => (each > most ? each : most), first);
}
""",
        "src/words.ts": """
export function lastWord(text: string): string {
  return text.trim().split(/\\s+/).pop() ?? "";
}
export function initials(text: string): string {
  let letters = "";
  for (const [first = ""] of text.split(" ")) letters += first.toUpperCase();
  return letters;
}
""",
    },
}
