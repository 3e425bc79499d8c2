import { expect, test } from "vitest";

import { statusHtml } from "../../../../../cmd/kubectl/commands/status/status-html.ts";
import { statusItemOf } from "../../../../../cmd/kubectl/commands/status/status-item.ts";
import { fleetStatusOf } from "../../../../../cmd/kubectl/commands/status/status.ts";
import { setItemOf } from "../../../../../cmd/kubectl/hub/set-view.ts";
import { component } from "../../fleet-facts.ts";
import { fleetSet, phased } from "../../set-facts.ts";

test("fleet sets have a table of their own, and none where there are none", () => {
  const stamp = { generatedAt: "2026-11-21T12:00:00Z", cliVersion: "1.0.0" };
  const report = fleetStatusOf([statusItemOf(component(), undefined)], [], stamp);
  const set = fleetSet({ status: phased("Halted", { waitingFor: "<b>2 failed" }) });
  const page = statusHtml({ ...report, sets: [setItemOf(set)] });
  expect(page).toContain("<caption>Fleet sets</caption>");
  expect(page).toContain('<td>kss/prod</td><td>1.23</td><td class="bad">Halted</td>');
  expect(page).toContain("<td>&lt;b&gt;2 failed</td>");
  expect(statusHtml(report)).not.toContain("Fleet sets");
});

test("text of clusters is text on the page, whatever it holds", () => {
  const message = `<script>alert("1")</script><img src=x onerror='a()'>&amp;\u001b[2J\u202e`;
  const failing = component({ name: "<b>", ready: { status: "False", reason: "</td>", message } });
  const stamp = { generatedAt: "2026-11-21T12:00:00Z", cliVersion: "1.0.0" };
  const page = statusHtml(fleetStatusOf([statusItemOf(failing, undefined)], ["<i>"], stamp));
  expect(page).toContain(
    "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&lt;img src=x onerror=&#39;a()&#39;&gt;&amp;amp; [2J",
  );
  expect(page).toContain("<td>&lt;b&gt;</td>");
  expect(page).toContain("&lt;i&gt; not found");
  expect(page).not.toMatch(/<script|<img|<i>|\p{Bidi_Control}/u);
  expect(page.match(/<tr>/g)?.length).toBe(page.match(/<\/tr>/g)?.length);
});
