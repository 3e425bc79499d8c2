import { onTestFinished, vi } from "vitest";

import { systemClock } from "../../access/time/system-clock.ts";
import { QuickClock } from "./quick-clock.ts";

/**
 * Until the test ends the clock that commands are built with runs `factor` times as fast, so that a command in this process waits less long. What else
 * runs in this process has that clock, too.
 */
export function quickenSystemClock(factor: number): void {
  const clock = new QuickClock(factor);
  const spies = [
    vi.spyOn(systemClock, "now").mockImplementation(() => clock.now()),
    vi.spyOn(systemClock, "date").mockImplementation(() => clock.date()),
    vi.spyOn(systemClock, "after").mockImplementation((ms, callback) => clock.after(ms, callback)),
  ];
  onTestFinished(async () => {
    for (const spy of spies) spy.mockRestore();
    await clock[Symbol.asyncDispose]();
  });
}
