import type { Cart, Item } from "./cart.js";

/** What some items cost together. */
export function sum(items: Item[]): number {
  return items.reduce((cents, item) => cents + item.cents, 0);
}

/** What a cart costs. */
export function total(cart: Cart): number {
  return sum(cart.items);
}

/** The names, in the order of the cart. */
export function names(cart: Cart): string[] {
  const items: Item[] = cart.items;
  return items.map((item) => item.name);
}
