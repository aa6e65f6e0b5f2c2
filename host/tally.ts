/**
 * Counts the tests of a run, suite by suite and in all. Takes the directory where the suites left their results: vitest's
 * JSON, and the output of `go test -v`. Fails when a suite left none or ran no test: silence is not success.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Tally {
  passed: number;
  failed: number;
  skipped: number;
}

interface VitestResults {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  testResults: { status: string; assertionResults: { status: string }[] }[];
}

function tallyVitest(text: string): Tally {
  const results = JSON.parse(text) as VitestResults;
  // A file that cannot be loaded, or whose hooks fail, has no failed test in it.
  const broken = results.testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  );
  return {
    passed: results.numPassedTests,
    failed: results.numFailedTests + broken.length,
    skipped: results.numPendingTests + results.numTodoTests,
  };
}

function tallyGo(text: string): Tally {
  // Subtests are indented; a package that does not build has no test.
  const count = (pattern: RegExp) => text.match(pattern)?.length ?? 0;
  return {
    passed: count(/^--- PASS: /gm),
    failed: count(/^--- FAIL: /gm) + count(/^FAIL\t.*\[(build|setup) failed\]$/gm),
    skipped: count(/^--- SKIP: /gm),
  };
}

const SUITES = [
  { name: 'unit', file: 'unit.json', tally: tallyVitest },
  { name: 'guest agent', file: 'agent.txt', tally: tallyGo },
  { name: 'contract', file: 'contract.json', tally: tallyVitest },
  { name: 'e2e', file: 'e2e.json', tally: tallyVitest },
];

function tallySuite(dir: string, { file, tally }: (typeof SUITES)[number]): Tally {
  try {
    return tally(readFileSync(join(dir, file), 'utf8'));
  } catch {
    // It ended before it could write them.
    return { passed: 0, failed: 1, skipped: 0 };
  }
}

const line = ({ passed, failed, skipped }: Tally) => `${passed} passed, ${failed} failed, ${skipped} skipped`;

const [dir] = process.argv.slice(2);
if (dir === undefined) throw new Error('usage: tally.ts DIRECTORY');
const total: Tally = { passed: 0, failed: 0, skipped: 0 };
for (const suite of SUITES) {
  const tally = tallySuite(dir, suite);
  const idle = tally.passed + tally.failed === 0;
  console.log(`${suite.name}: ${line(tally)}${idle ? ' (no test ran)' : ''}`);
  total.passed += tally.passed;
  total.failed += tally.failed;
  total.skipped += tally.skipped;
  if (idle || tally.failed > 0) process.exitCode = 1;
}
console.log(line(total));
