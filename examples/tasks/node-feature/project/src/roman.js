const SYMBOLS = [
  [1000, "M"],
  [900, "CM"],
  [500, "D"],
  [400, "CD"],
  [100, "C"],
  [90, "XC"],
  [50, "L"],
  [40, "XL"],
  [10, "X"],
  [9, "IX"],
  [5, "V"],
  [4, "IV"],
  [1, "I"],
];

/** The number as a Roman numeral; only whole numbers from 1 to 3999 have one. */
export function toRoman(number) {
  if (!Number.isInteger(number) || number < 1 || number > 3999) {
    throw new RangeError(`no Roman numeral for ${number}`);
  }
  let rest = number;
  let text = "";
  for (const [value, symbol] of SYMBOLS) {
    while (rest >= value) {
      text += symbol;
      rest -= value;
    }
  }
  return text;
}
