import { expect, test } from "vitest";

import { isForbiddenAddress } from "../../../access/http/address-guard.ts";

test.each([
  "0.0.0.0",
  "0.1.2.3",
  "127.0.0.1",
  "127.255.255.254",
  "169.254.169.254",
  "224.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "::ffff:127.0.0.1",
  "::ffff:10.0.0.1",
  "64:ff9b::7f00:1",
  "2002:7f00:1::",
  "fe80::1",
  "fe80::1%eth0",
  "febf::1",
  "ff02::1",
])("no name may lead to %s", (address) => {
  expect(isForbiddenAddress(address)).toBe(true);
});

test.each(["10.0.0.1", "172.16.0.1", "192.168.1.1", "203.0.113.7", "fd00::1", "2606:4700::1"])(
  "a name may lead to %s",
  (address) => {
    expect(isForbiddenAddress(address)).toBe(false);
  },
);
