import { afterEach, beforeEach } from "vitest";

/**
 * Says that the tests of this file or `describe` are steps of one story: each needs what the one before it leaves. After a step that failed the later ones are
 * left out, so that one fault is one failure. Tests outside of the story need a cleanup of their own, such as `useClearScene`.
 */
export function useStory(): void {
  let broken: string | undefined;
  beforeEach(({ skip }) => {
    if (broken !== undefined) skip(`needs "${broken}", which failed`);
  });
  afterEach(({ task }) => {
    if (task.result?.state === "fail") broken ??= task.name;
  });
}
