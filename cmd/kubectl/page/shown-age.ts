import { ageOf } from "../output/duration.ts";

/** The age of something on the page, counted to the later of clock and time: the page looks at its clock before data comes, and clusters have clocks of their own. */
export function shownAge(since: string | null, now: Date): string {
  const time = Date.parse(since ?? "");
  return ageOf(since, time > now.getTime() ? new Date(time) : now);
}
