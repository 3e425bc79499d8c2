/** An `onBug` that lets the test run fail, by an unhandled rejection. */
export function rethrow(error: unknown): never {
  throw error;
}
