import { expect, test } from "vitest";

import type { Manifest } from "../../../api/kubernetes.ts";
import { apply } from "../../../controller/apply/apply.ts";
import type { Progress } from "../../../controller/apply/change-set.ts";
import { gateObjects } from "../../../installation/gates.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { manifestOf, preparedOf } from "./prepared.ts";
import { Server } from "./scripted-server.ts";

function config(name: string): Manifest {
  return manifestOf(`v1 ConfigMap knative/${name}`);
}

// A webhook of the cluster may keep a write waiting for half a minute.
test("a write without an answer holds no other object, and is told of until it is answered", async () => {
  const server = new Server();
  server.hold("slow", "refused");
  server.answer("refused", { message: 'failed calling webhook "a.b"' });
  const progress: Progress[] = [];
  const names = Array.from({ length: 100 }, (_, index) => `c${index}`);
  const clock = new FakeClock();
  const result = apply(
    gateObjects(preparedOf(["slow", "refused", ...names].map(config))),
    {
      requests: server,
      clock,
      installNamespace: "knative",
      onProgress: (one) => progress.push(one),
    },
    new AbortController().signal,
  );
  await clock.advance(4_999);
  expect(progress.at(-1)).toMatchObject({ done: 100, total: 102, waiting: [] });
  await clock.advance(1);
  const message = "Waiting for the answer of the API server";
  expect(progress.at(-1)).toMatchObject({ done: 100, waiting: [{ message, count: 2 }] });
  await server.release("slow");
  expect(progress.at(-1)).toMatchObject({ done: 101, waiting: [{ message, count: 1 }] });
  await server.release("refused");
  const waiting = [{ message: "Waiting for webhook a.b", count: 1 }];
  expect(progress.at(-1)).toMatchObject({ done: 101, waiting });
  expect((await result).parked.map(({ key }) => key.name)).toEqual(["refused"]);
});
