import type { Cart, Item } from "./cart.js";

/** The cart with one item more, at its end. */
export function add(cart: Cart, item: Item): Cart {
  return { ...cart, items: [...cart.items, item] };
}

/** The cart without anything. */
export function clear(cart: Cart): Cart {
  return { ...cart, items: [] };
}
