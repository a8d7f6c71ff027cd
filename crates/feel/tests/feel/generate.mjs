// Writes `vectors.jsonl`: every expression of `cases.txt` with its variables and what the npm
// package `feelin` makes of it. Run it where that package is installed:
//
//     node generate.mjs > vectors.jsonl
//
// What has no form in JSON, such as a function, is left out. Where feelin and the standard differ,
// the line stands in `differences.txt` with our answer and the reason, and here it is left out too.
import { readFileSync } from 'node:fs';
import { evaluate } from 'feelin';

const read = (name) => readFileSync(new URL(name, import.meta.url), 'utf8').split('\n');
const differences = new Set(
  read('differences.txt').filter((line) => line && !line.startsWith('#')).map((line) => line.split(' => ')[0]),
);
let variables = {};
for (const line of read('cases.txt')) {
  if (!line || line.startsWith('# ')) continue;
  if (line.startsWith('@ ')) {
    variables = JSON.parse(line.slice(2));
    continue;
  }
  if (differences.has(line)) continue;
  let result;
  try {
    result = evaluate(line, variables);
  } catch (error) {
    console.error(`${line}: ${error.message}`);
    continue;
  }
  const value = result && typeof result === 'object' && 'value' in result && 'warnings' in result ? result.value : result;
  const text = JSON.stringify(value === undefined ? null : value);
  if (text === undefined || typeof value === 'function') continue;
  console.log(JSON.stringify({ expression: line, variables, result: JSON.parse(text) }));
}
