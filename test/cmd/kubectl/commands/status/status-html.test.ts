import { expect, test } from "vitest";

import { statusHtml } from "../../../../../cmd/kubectl/commands/status/status-html.ts";
import { statusItemOf } from "../../../../../cmd/kubectl/commands/status/status-item.ts";
import {
  type FleetStatus,
  fleetStatusOf,
} from "../../../../../cmd/kubectl/commands/status/status.ts";
import { setItemOf } from "../../../../../cmd/kubectl/hub/set-view.ts";
import { component } from "../../fleet-facts.ts";
import { fleetSet, phased } from "../../set-facts.ts";

const from = { recordedAt: undefined, knfleet: "kubectl knfleet" };

/** The part of the page that is shown without a script. */
function tablesOf(report: FleetStatus): string {
  const [, tables = ""] = /<noscript>([\s\S]*)<\/noscript>/.exec(statusHtml(report, from)) ?? [];
  return tables;
}

test("the page runs one script and has one style, and no text of a cluster is either", () => {
  const attack = `</script><script>alert(1)</script></noscript><style>*{}</style>`;
  const stamp = { generatedAt: "2026-11-21T12:00:00Z", cliVersion: "1.0.0" };
  const page = statusHtml(
    fleetStatusOf([statusItemOf(component({ name: attack }), undefined)], [attack], stamp),
    from,
  );
  expect(page.match(/<script>/g)).toHaveLength(1);
  expect(page.match(/<\/script>/g)).toHaveLength(2);
  expect(page.match(/<style>/g)).toHaveLength(1);
  expect(page.match(/<\/noscript>/g)).toHaveLength(1);
  expect(page).toMatch(/default-src 'none'; script-src 'sha256-[\w+/=]{44}'; style-src 'sha256-/);
});

test("the page holds nothing that looks like a secret", () => {
  const message = "https://eve:hunter2@example.com said token=hunter3";
  const ready = { status: "False", reason: "ApplyFailed", message } as const;
  const stamp = { generatedAt: "2026-11-21T12:00:00Z", cliVersion: "1.0.0" };
  const report = fleetStatusOf([statusItemOf(component({ ready }), undefined)], [], stamp);
  expect(statusHtml(report, from)).not.toMatch(/hunter\d/);
});

test("fleet sets have a table of their own, and none where there are none", () => {
  const stamp = { generatedAt: "2026-11-21T12:00:00Z", cliVersion: "1.0.0" };
  const report = fleetStatusOf([statusItemOf(component(), undefined)], [], stamp);
  const set = fleetSet({ status: phased("Halted", { waitingFor: "<b>2 failed" }) });
  const page = tablesOf({ ...report, sets: [setItemOf(set)] });
  expect(page).toContain("<caption>Fleet sets</caption>");
  expect(page).toContain('<td>kss/prod</td><td>1.23</td><td class="badge bad">Halted</td>');
  expect(page).toContain("<td>&lt;b&gt;2 failed</td>");
  expect(tablesOf(report)).not.toContain("Fleet sets");
});

test("text of clusters is text on the page, whatever it holds", () => {
  const message = `<script>alert("1")</script><img src=x onerror='a()'>&amp;\u001b[2J\u202e`;
  const failing = component({ name: "<b>", ready: { status: "False", reason: "</td>", message } });
  const stamp = { generatedAt: "2026-11-21T12:00:00Z", cliVersion: "1.0.0" };
  const page = tablesOf(fleetStatusOf([statusItemOf(failing, undefined)], ["<i>"], stamp));
  expect(page).toContain(
    "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&lt;img src=x onerror=&#39;a()&#39;&gt;&amp;amp; [2J",
  );
  expect(page).toContain("<td>&lt;b&gt;</td>");
  expect(page).toContain("&lt;i&gt; not found");
  expect(page).not.toMatch(/<script|<img|<i>|\p{Bidi_Control}/u);
  expect(page.match(/<tr>/g)?.length).toBe(page.match(/<\/tr>/g)?.length);
});
