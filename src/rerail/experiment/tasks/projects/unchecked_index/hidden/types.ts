import { cell, heading } from "../cells.js";
import { counts, largest } from "../count.js";
import type { Table } from "../table.js";
import { initials, lastWord } from "../words.js";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const holds = <T extends true>(): T | undefined => undefined;

holds<Same<Table, readonly (readonly string[])[]>>();
holds<Same<typeof heading, (table: Table, column: number) => string>>();
holds<Same<typeof cell, (table: Table, row: number, column: number) => string>>();
holds<Same<typeof lastWord, (text: string) => string>>();
holds<Same<typeof initials, (text: string) => string>>();
holds<Same<typeof counts, (words: readonly string[]) => Record<string, number>>>();
holds<Same<typeof largest, (numbers: readonly number[]) => number>>();
