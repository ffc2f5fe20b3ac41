import assert from "node:assert/strict";
import { test } from "node:test";

import { toRoman } from "../src/roman.js";

test("writes numbers", () => {
  assert.equal(toRoman(4), "IV");
  assert.equal(toRoman(1987), "MCMLXXXVII");
  assert.equal(toRoman(3999), "MMMCMXCIX");
});

test("refuses what has no numeral", () => {
  for (const number of [0, -1, 4000, 1.5, NaN]) {
    assert.throws(() => toRoman(number), RangeError);
  }
});
