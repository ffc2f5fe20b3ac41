import assert from "node:assert/strict";
import { test } from "node:test";

import * as roman from "../src/roman.js";

const { fromRoman, toRoman } = roman;

test("reads one numeral", () => {
  assert.equal(fromRoman("MCMLXXXVII"), 1987);
});

test("reads back whatever toRoman writes", () => {
  for (let number = 1; number <= 3999; number += 1) {
    assert.equal(fromRoman(toRoman(number)), number);
  }
});

test("takes small letters", () => {
  assert.equal(fromRoman("xiv"), 14);
  assert.equal(fromRoman("McmXc"), 1990);
});

test("refuses other forms", () => {
  for (const text of ["", "IIII", "IC", "VX", "MMMM", "IVI", "XIXI", " X", "X ", "A", "1"]) {
    assert.throws(() => fromRoman(text), RangeError, JSON.stringify(text));
  }
});

test("refuses what is no string", () => {
  for (const value of [undefined, null, 5, ["X"], {}]) {
    assert.throws(() => fromRoman(value), RangeError);
  }
});

test("still writes numerals", () => {
  assert.equal(toRoman(1444), "MCDXLIV");
  assert.throws(() => toRoman(4000), RangeError);
});
