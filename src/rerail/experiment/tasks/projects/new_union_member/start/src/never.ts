/** For the place that no case leads to. */
export function never(value: never): never {
  throw new Error(`no such case: ${JSON.stringify(value)}`);
}
