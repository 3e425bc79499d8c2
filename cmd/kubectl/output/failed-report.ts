import { plainText } from "../../../api/foreign-text.ts";
import type { ActionInput } from "../action.ts";
import { clientVersion } from "../client-version.ts";
import type { LiveReason } from "../commands/status/own-reasons.ts";
import { codedError, reportOf, stampAt } from "../commands/status/report.ts";
import { renderJson, renderYaml } from "./structured.ts";

/** Prints the document of a command that could not do its work, when a document was asked for: no items, one error, `summary` null. */
export async function printFailedReport(
  {
    kind,
    reason,
    message,
  }: { readonly kind: string; readonly reason: LiveReason; readonly message: string },
  { flags, terminal }: Pick<ActionInput<unknown>, "flags" | "terminal">,
): Promise<void> {
  if (flags.output !== "json" && flags.output !== "yaml") return;
  const document = reportOf(kind, stampAt(terminal.now(), clientVersion), {
    complete: false,
    summary: null,
    items: [],
    errors: [codedError({ reason, message: plainText(message), cluster: null })],
  });
  const text = flags.output === "json" ? renderJson(document) : await renderYaml(document);
  terminal.stdout.write(text);
}
