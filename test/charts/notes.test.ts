import { expect, test, vi } from "vitest";

import { commandTable } from "../../cmd/kubectl/command-table.ts";
import type { Values } from "./helm.ts";
import { useHelm } from "./use-helm.ts";

// Programs start slowly on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const helm = useHelm();
const register = "kubectl knfleet register CONTEXT";
const status = "kubectl knfleet status -A";
const check = "kubectl knfleet check";
const providers = [{ name: "knfleet-register", execConfig: { command: "builtin:secretreader" } }];

test.each<[string, Values, readonly string[]]>([
  ["nothing but the hub", { controller: { hubInstallations: true } }, [status, check]],
  [
    "other clusters",
    { multicluster: { enabled: true, accessProvidersConfig: { providers } } },
    [register, status, check],
  ],
  [
    "a spoke that is only guarded",
    {
      guard: {
        only: true,
        hubs: [{ id: "0b5e8f3a-0000-4000-8000-000000000000", user: "knfleet-hub" }],
      },
    },
    ["kubectl knfleet diagnose ks/NAME"],
  ],
  [
    "the webhook beside upstream's operator",
    { controller: { enabled: false } },
    ["kubectl apply --dry-run=server -f FILE"],
  ],
])("the notes name the next commands: %s", async (_what, values, expected) => {
  const notes = await helm().notes(values);
  expect(Array.from(notes.matchAll(/^ {2}(\S.*)$/gm), ([, command]) => command)).toEqual(expected);
  const named = Array.from(notes.matchAll(/kubectl knfleet (\S+)/g), ([, name]) => name);
  expect(commandTable().map(({ name }) => name)).toEqual(expect.arrayContaining(named));
});

test("the notes say first what is still missing for a component on the hub", async () => {
  const notes = await helm().notes({});
  const missing = notes.indexOf("set controller.hubInstallations=true");
  expect(missing).toBeGreaterThan(0);
  expect(missing).toBeLessThan(notes.indexOf(status));
  expect(await helm().notes({ controller: { hubInstallations: true } })).not.toContain("set contr");
});
