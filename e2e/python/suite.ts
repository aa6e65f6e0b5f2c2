import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { InstalledWheel } from './wheel.ts';

const PYTHON = fileURLToPath(new URL('../../python', import.meta.url));

/** The tests of a directory of python/, as pytest names them, read from the files: vitest wants to know them first. */
export function listTests(dir: string): string[] {
  const files = readdirSync(join(PYTHON, dir)).filter((name) => /^test_\w+\.py$/.test(name));
  return files.flatMap((file) => {
    const source = readFileSync(join(PYTHON, dir, file), 'utf8');
    return [...source.matchAll(/^(?:async )?def (test_\w+)/gm)].map(([, name]) => `${dir}/${file}::${name}`);
  });
}

interface Outcome {
  readonly id: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  readonly said: string;
}

/** What one run of pytest came to. */
export class SuiteRun {
  readonly output: string;
  readonly exitCode: number | null;
  readonly #outcomes: readonly Outcome[];

  private constructor(output: string, exitCode: number | null, outcomes: readonly Outcome[]) {
    this.output = output;
    this.exitCode = exitCode;
    this.#outcomes = outcomes;
  }

  /** Runs these tests, as `listTests` names them. Each outcome goes to the file `results`. */
  static async run(
    wheel: InstalledWheel,
    tests: readonly string[],
    env: Readonly<Record<string, string>>,
    results: string,
  ): Promise<SuiteRun> {
    const [file, args] = wheel.pytest(...new Set(tests.map((id) => id.split('::')[0] ?? '')));
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('ATOLL_'));
    const pytest = spawn(file, args, {
      cwd: PYTHON,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...Object.fromEntries(inherited),
        PYTHONDONTWRITEBYTECODE: '1',
        ATOLL_TEST_RESULTS: results,
        ...env,
      },
    });
    const ended = once(pytest, 'close') as Promise<[number | null]>;
    const [stdout, stderr, [exitCode]] = await Promise.all([text(pytest.stdout), text(pytest.stderr), ended]);
    const lines = (await readFile(results, 'utf8').catch(() => '')).trim().split('\n').filter(Boolean);
    const outcomes = lines.map((line) => JSON.parse(line) as Outcome);
    return new SuiteRun(stdout + stderr, exitCode, outcomes);
  }

  /** Throws what pytest said of a test that did not pass: a failure, or that it was not run. */
  assertPassed(id: string): void {
    const [first, ...more] = this.#outcomes.filter((outcome) => outcome.id === id);
    if (first === undefined) throw new Error(`pytest did not run it:\n${this.output}`);
    // A test that passes, and whose clean-up fails, has two.
    const bad = [first, ...more].find((outcome) => outcome.outcome !== 'passed');
    if (bad !== undefined) throw new Error(`${bad.outcome}:\n${bad.said}`);
  }
}
