import { troubleLines } from "../output/notes.ts";
import { listExitCode, type ReportError } from "../output/report.ts";
import type { Selection } from "../selection/selection.ts";
import type { Follow, Report } from "./report.ts";

/**
 * What follows a report whose items come without an end, from installations that may be named. A name that does not exist is a mistake, and without any other name nothing
 * is waited for; without names the command waits for installations. `run`: goes on until the signal aborts.
 */
export function following<Item>(
  { names }: Pick<Selection, "names">,
  missing: readonly ReportError[],
  run: (
    show: (report: Report<Item>) => void,
    onTrouble: (error: ReportError) => void,
    tell: (lines: readonly string[]) => void,
  ) => Promise<void>,
): Follow<Item> {
  return async (show, tell) => {
    tell(troubleLines(missing));
    let complete = true;
    const onTrouble = (error: ReportError): void => {
      complete = false;
      tell(troubleLines([error]));
    };
    let shown = Promise.resolve();
    const showNext = (report: Report<Item>): void => {
      shown = shown.then(() => show(report, false));
    };
    const isVain = names.length > 0 && missing.length === names.length;
    if (!isVain) await run(showNext, onTrouble, tell);
    await shown;
    return listExitCode({ errors: missing, complete });
  };
}
