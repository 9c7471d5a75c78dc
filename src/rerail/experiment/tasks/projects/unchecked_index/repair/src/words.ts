/** The last word of a text; empty where there is none. */
export function lastWord(text: string): string {
  const words = text.split(" ").filter((word) => word !== "");
  return words[words.length - 1] ?? "";
}

/** The first letter of each word, as upper case. */
export function initials(text: string): string {
  const words = text.split(" ").filter((word) => word !== "");
  return words.map((word) => word.charAt(0).toUpperCase()).join("");
}
