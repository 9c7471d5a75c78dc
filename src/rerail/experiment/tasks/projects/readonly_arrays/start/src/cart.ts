/** One thing to buy. */
export interface Item {
  readonly name: string;
  readonly cents: number;
}

/** What somebody wants to buy. A cart is never changed; another one is made. */
export interface Cart {
  readonly items: readonly Item[];
}
