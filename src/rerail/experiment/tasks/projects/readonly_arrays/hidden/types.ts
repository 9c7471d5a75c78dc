import type { Cart, Item } from "../cart.js";
import { add, clear } from "../change.js";
import { cheapestFirst } from "../order.js";
import { names, sum, total } from "../total.js";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const holds = <T extends true>(): T | undefined => undefined;

holds<Same<Cart, { readonly items: readonly Item[] }>>();
holds<Same<Item, { readonly name: string; readonly cents: number }>>();
holds<Same<typeof add, (cart: Cart, item: Item) => Cart>>();
holds<Same<typeof clear, (cart: Cart) => Cart>>();
holds<Same<typeof cheapestFirst, (cart: Cart) => readonly Item[]>>();
holds<Same<ReturnType<typeof sum>, number>>();
holds<Same<Item[] extends Parameters<typeof sum>[0] ? true : false, true>>();
holds<Same<typeof total, (cart: Cart) => number>>();
holds<Same<typeof names, (cart: Cart) => string[]>>();
