import type { Table } from "./table.js";

/** The heading of a column; empty where there is none. */
export function heading(table: Table, column: number): string {
  return table[0][column];
}

/** A cell; empty where there is none. */
export function cell(table: Table, row: number, column: number): string {
  return table[row][column];
}
