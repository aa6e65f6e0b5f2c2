/**
 * Counts the tests of a run, suite by suite and in all, and names those that failed. Takes the directory where the suites left their
 * results: vitest's JSON, and the output of `go test -v` and of `pytest -rA`. Fails when a suite left none or ran no test: silence is
 * not success.
 */
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

interface Tally extends Counts {
  /** Each that failed, with why as far as that is known here. */
  failures: string[];
}

interface VitestResults {
  numPassedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  testResults: {
    name: string;
    status: string;
    message: string;
    assertionResults: { status: string; fullName: string; failureMessages: string[] }[];
  }[];
}

const FAILED = 'failed';
const firstLine = (text: string | undefined) => text?.split('\n', 1)[0] ?? '';

function tallyVitest(text: string): Tally {
  const results = JSON.parse(text) as VitestResults;
  const failures = results.testResults
    .filter(({ status }) => status === FAILED)
    .flatMap(({ name, message, assertionResults }) => {
      const file = relative(process.cwd(), name);
      const tests = assertionResults.filter(({ status }) => status === FAILED);
      // A file that cannot be loaded, or whose hooks fail, has no failed test in it.
      if (tests.length === 0) return [`${file}: ${firstLine(message)}`];
      return tests.map((test) => `${file} > ${test.fullName}: ${firstLine(test.failureMessages[0])}`);
    });
  const skipped = results.numPendingTests + results.numTodoTests;
  return { passed: results.numPassedTests, failed: failures.length, skipped, failures };
}

/** Of a suite that prints a line for each test. */
function tallyLines(text: string, patterns: Record<keyof Counts, RegExp>): Tally {
  const count = (pattern: RegExp) => text.match(pattern)?.length ?? 0;
  const failures = text.match(patterns.failed) ?? [];
  return {
    passed: count(patterns.passed),
    failed: failures.length,
    skipped: count(patterns.skipped),
    failures: [...failures],
  };
}

const tallyGo = (text: string) =>
  tallyLines(text, {
    // Subtests are indented; a package that does not build has no test.
    passed: /^--- PASS: /gm,
    failed: /^(--- FAIL: .*|FAIL\t.*\[(build|setup) failed\])$/gm,
    skipped: /^--- SKIP: /gm,
  });

const tallyPytest = (text: string) =>
  tallyLines(text, {
    passed: /^PASSED /gm,
    // A file that cannot be loaded, or a fixture that fails, is an error.
    failed: /^(FAILED|ERROR) .*$/gm,
    skipped: /^SKIPPED /gm,
  });

const SUITES = [
  { name: 'unit', file: 'unit.json', tally: tallyVitest },
  { name: 'guest agent', file: 'agent.txt', tally: tallyGo },
  { name: 'python', file: 'python.txt', tally: tallyPytest },
  { name: 'contract', file: 'contract.json', tally: tallyVitest },
  { name: 'e2e, lane 1', file: 'e2e-1.json', tally: tallyVitest },
  { name: 'e2e, lane 2', file: 'e2e-2.json', tally: tallyVitest },
  { name: 'nested', file: 'nested.json', tally: tallyVitest },
];

function tallySuite(dir: string, { file, tally }: (typeof SUITES)[number]): Tally {
  try {
    return tally(readFileSync(join(dir, file), 'utf8'));
  } catch {
    // It ended before it could write them.
    return { passed: 0, failed: 1, skipped: 0, failures: ['left no results'] };
  }
}

const line = ({ passed, failed, skipped }: Counts) =>
  `${passed} passed, ${failed} failed, ${skipped} skipped`;

const [dir] = process.argv.slice(2);
if (dir === undefined) throw new Error('usage: tally.ts DIRECTORY');
const total: Counts = { passed: 0, failed: 0, skipped: 0 };
for (const suite of SUITES) {
  const tally = tallySuite(dir, suite);
  const idle = tally.passed + tally.failed === 0;
  console.log(`${suite.name}: ${line(tally)}${idle ? ' (no test ran)' : ''}`);
  for (const failure of tally.failures) console.log(`  ✗ ${failure}`);
  total.passed += tally.passed;
  total.failed += tally.failed;
  total.skipped += tally.skipped;
  if (idle || tally.failed > 0) process.exitCode = 1;
}
console.log(line(total));
