/** How often each word comes. */
export function counts(words: readonly string[]): Record<string, number> {
  const found: Record<string, number> = Object.create(null);
  for (const word of words) {
    const before: number = word in found ? found[word] : 0;
    found[word] = before + 1;
  }
  return found;
}

/** The largest of the numbers; 0 where there are none. */
export function largest(numbers: readonly number[]): number {
  let most: number = numbers.length > 0 ? numbers[0] : 0;
  for (const each of numbers) most = Math.max(most, each);
  return most;
}
