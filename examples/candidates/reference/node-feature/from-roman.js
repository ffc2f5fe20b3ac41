
/** The number that a Roman numeral stands for; only the form that toRoman writes is one. */
export function fromRoman(text) {
  const wanted = typeof text === "string" ? text.toUpperCase() : "";
  let rest = wanted;
  let number = 0;
  for (const [value, symbol] of SYMBOLS) {
    while (rest.startsWith(symbol)) {
      number += value;
      rest = rest.slice(symbol.length);
    }
  }
  if (rest !== "" || number < 1 || number > 3999 || toRoman(number) !== wanted) {
    throw new RangeError(`not a Roman numeral: ${String(text)}`);
  }
  return number;
}
