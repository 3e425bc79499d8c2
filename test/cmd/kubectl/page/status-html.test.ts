import { expect, test } from "vitest";

import { statusItemOf } from "../../../../cmd/kubectl/fleet/status-item.ts";
import { fleetStatusOf } from "../../../../cmd/kubectl/fleet/status.ts";
import { statusHtml } from "../../../../cmd/kubectl/page/status-html.ts";
import { component } from "../fleet-facts.ts";

const from = { recordedAt: undefined, kubectl: "kubectl", knfleet: "kubectl knfleet" };

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
