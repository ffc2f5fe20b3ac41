
const LETTERS = { I: 1, V: 5, X: 10, L: 50, C: 100, D: 500, M: 1000 };

/** Adds and subtracts letters, and so takes IIII and IC for numerals. */
export function fromRoman(text) {
  let total = 0;
  const values = [...text.toUpperCase()].map((letter) => LETTERS[letter]);
  if (values.length === 0 || values.includes(undefined)) {
    throw new RangeError(`not a Roman numeral: ${text}`);
  }
  values.forEach((value, index) => {
    total += value < (values[index + 1] ?? 0) ? -value : value;
  });
  return total;
}
