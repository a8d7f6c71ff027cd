/** Values as JSON text; a value that is not JSON is rejected with its path. */

import { NotJson } from "./errors.js";

/** The depth to which the offending value is searched. */
const LEVELS = 200;

/** Objects that `JSON.stringify` writes as `{}` or as a list of bytes, without an error. */
const OPAQUE: readonly (abstract new (...args: never[]) => object)[] = [
  Promise,
  Map,
  Set,
  WeakMap,
  WeakSet,
  RegExp,
  Error,
  ArrayBuffer,
];

/**
 * The JSON of a value; `undefined` is null, and a property that is undefined is absent.
 *
 * Unlike `JSON.stringify` it throws `NotJson` for values that would be lost or changed: NaN,
 * Infinity, functions, symbols, `undefined` in a list, promises, maps, sets, errors and binary data.
 */
export function encode(value: unknown): string {
  if (value === undefined) return "null";
  let text: string | undefined;
  try {
    const found = offender(value, "$", []);
    if (found !== undefined) throw new NotJson(found);
    text = JSON.stringify(value);
  } catch (why) {
    if (why instanceof NotJson) throw why;
    // A getter or a `toJSON` of the value may throw anything.
    throw new NotJson(why instanceof Error ? why.message : "it cannot be read");
  }
  // A `toJSON` may return undefined.
  if (text === undefined) throw new NotJson("$ has no JSON");
  return text;
}

/** The path and kind of the first value that is not JSON. */
function offender(value: unknown, place: string, above: object[]): string | undefined {
  switch (typeof value) {
    case "number":
      return Number.isFinite(value) ? undefined : `${place} is ${value}`;
    case "bigint":
      return `${place} is a BigInt`;
    case "undefined":
      return `${place} is undefined`;
    case "function":
    case "symbol":
      return `${place} is a ${typeof value}`;
    case "object":
      return value === null ? undefined : inside(value, place, above);
    default:
      return undefined;
  }
}

function inside(value: object, place: string, above: object[]): string | undefined {
  if (above.includes(value)) return `${place} contains itself`;
  if (above.length >= LEVELS) return `${place} is nested too deeply`;
  // A value with a `toJSON`, such as a Date, decides its own JSON.
  if ("toJSON" in value && typeof value.toJSON === "function") {
    const said: unknown = value.toJSON();
    return said === value ? undefined : offender(said, place, [...above, value]);
  }
  if (ArrayBuffer.isView(value) || OPAQUE.some((kind) => value instanceof kind)) {
    return `${place} is a ${value.constructor.name}`;
  }
  const deeper = [...above, value];
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const found = offender(value[index], `${place}[${index}]`, deeper);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  for (const [name, item] of Object.entries(value)) {
    const found = item === undefined ? undefined : offender(item, `${place}.${name}`, deeper);
    if (found !== undefined) return found;
  }
  return undefined;
}
