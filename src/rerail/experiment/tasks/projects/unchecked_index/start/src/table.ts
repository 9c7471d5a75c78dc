/** Rows of text; every row may have another length. */
export type Table = readonly (readonly string[])[];
