import { waitFor } from "../fleet/wait-for.ts";

/** Waits until a request is refused with these words, and not because nobody answered in time. */
export async function isRefused(attempt: () => Promise<unknown>, words: RegExp): Promise<void> {
  await waitFor(
    `a refusal ${words}`,
    async () => {
      const said = await attempt().catch((error: unknown) => error);
      return said instanceof Error && words.test(said.message);
    },
    { timeoutMs: 90_000 },
  );
}
