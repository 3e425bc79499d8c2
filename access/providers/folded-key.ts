/** A key as Go's JSON decoder compares it: without case, and with the long s and the Kelvin sign as the letters they look like. */
export function foldedKey(key: string): string {
  // Upper case first: that is what folds these two.
  return key.toUpperCase().toLowerCase();
}
