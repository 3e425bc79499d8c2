import { expect, test } from "vitest";

import type { KubeObject } from "../../api/kubernetes.ts";
import { phaseText } from "./fleet-set.ts";

const metadata = { namespace: "a", name: "b", uid: "c", resourceVersion: "1" };
const set = (status?: object): KubeObject => ({
  apiVersion: "knfleet.dev/v1alpha1",
  kind: "KnativeEventingSet",
  metadata,
  ...(status === undefined ? {} : { status }),
});

test.each([
  { name: "that does not exist yet", of: undefined, text: "no status yet" },
  { name: "without a status", of: set(), text: "no status yet" },
  { name: "whose rollout has not begun", of: set({ rollout: {} }), text: "no status yet" },
  { name: "that rolls", of: set({ rollout: { phase: "Rolling" } }), text: "Rolling" },
  {
    name: "that waits",
    of: set({ rollout: { phase: "Halted", waitingFor: "a person" } }),
    text: "Halted  a person",
  },
])("the progress of a set $name is: $text", ({ of, text }) => expect(phaseText(of)).toBe(text));
