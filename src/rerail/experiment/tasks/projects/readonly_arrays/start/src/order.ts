import type { Cart, Item } from "./cart.js";

/** The items, the cheapest first. */
export function cheapestFirst(cart: Cart): readonly Item[] {
  return cart.items.sort((a, b) => a.cents - b.cents);
}
