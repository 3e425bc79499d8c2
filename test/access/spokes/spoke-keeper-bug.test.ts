import { expect, test, vi } from "vitest";

import { SpokeKeeper } from "../../../access/spokes/spoke-keeper.ts";
import { FleetError } from "../../../api/errors.ts";
import { QuickClock } from "../../support/quick-clock.ts";
import { stub, untilTheEnd } from "../loopback.ts";
import { accessTo, patience } from "./quiet-connection.ts";

test("a bug of this program does not look like a server that does not answer", async () => {
  const { server } = await stub(undefined, { answer: () => ({ body: "{}" }) });
  const bug = new TypeError("x is undefined");
  const onBug = vi.fn<(spoke: string, error: unknown) => void>();
  const deps = {
    environment: { PATH: "/usr/bin:/bin" },
    userAgent: "test",
    clock: untilTheEnd(new QuickClock(5)),
    onCredential: () => {
      throw bug;
    },
    onBug,
  };
  const keeper = new SpokeKeeper(accessTo(server), deps, () => undefined);
  const over = new FleetError("ClusterProviderClosed", "The test is over");
  untilTheEnd({ [Symbol.asyncDispose]: () => keeper.close(over) });
  await vi.waitFor(() => expect(keeper.state.kind).toBe("failed"), patience);
  expect(keeper.state).toMatchObject({
    error: {
      reason: "RemoteClientCreationFailed",
      code: undefined,
      message: "Internal error, see the log of the controller",
    },
  });
  expect(onBug.mock.calls[0]).toEqual(["fleet/spoke-1", bug]);
});
