import type { Cart, Item } from "./cart.js";

/** The cart with one item more, at its end. */
export function add(cart: Cart, item: Item): Cart {
  cart.items.push(item);
  return cart;
}

/** The cart without anything. */
export function clear(cart: Cart): Cart {
  cart.items = [];
  return cart;
}
