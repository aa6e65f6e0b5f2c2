/** docs/cli.md: every command, written from the tree of commands itself. `--write` writes it, `--check` fails on a difference. */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { format, resolveConfig } from 'prettier';
import { EXIT_MEANINGS } from '../src/exit-codes.ts';
import { Interrupts } from '../src/interrupts.ts';
import { buildProgram } from '../src/program.ts';

const TARGET = fileURLToPath(new URL('../../../docs/cli.md', import.meta.url));
const SHARED = new Set(['--url', '--token-file', '--json', '--quiet']);

const HEAD = `# The command \`atoll\`

Written by \`npm run cli:reference\` from the tree of commands; \`atoll help <command>\` shows the same.

A sandbox is called by its id or its name. Results are on stdout, everything else on stderr. What runs a program in a sandbox (\`run\`,
\`exec\`, \`shell\`) ends with the program's exit code.

| Variable                                     | Meaning                                                            |
| -------------------------------------------- | ------------------------------------------------------------------ |
| \`ATOLL_URL\`                                  | address of the daemon; http://127.0.0.1:7777 when not set           |
| \`ATOLL_TOKEN\`                                | the daemon's token; a command line is everyone's to read           |
| \`ATOLL_HOME\`                                 | a checkout of Atoll, for \`up\`, \`down\` and \`doctor\` from elsewhere  |
| \`AWS_ACCESS_KEY_ID\`, \`AWS_SECRET_ACCESS_KEY\` | the keys that \`mount create\` takes                                 |
| \`NO_COLOR\`                                   | no colours                                                         |
`;

function options(command: Command, isShown: (long: string) => boolean): string {
  const rows = command.options
    .filter(({ long }) => isShown(long ?? ''))
    .map(({ flags, description }) => `| \`${flags}\` | ${escape(description)} |`);
  return rows.length === 0 ? '' : `\n| Option | Meaning |\n| --- | --- |\n${rows.join('\n')}\n`;
}

function escape(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
}

function section(command: Command, path: string): string {
  const own = `${path} ${command.name()}`;
  const shown = command.commands.filter((each) => !each.name().startsWith('_') && each.name() !== 'help');
  if (shown.length > 0)
    return `\n### ${own}\n\n${escape(capital(command.description()))}.\n${shown.map((each) => section(each, own)).join('')}`;
  const values = command.registeredArguments.map(
    (each) => `| \`${each.name()}\` | ${escape(each.description)} |`,
  );
  const table = values.length === 0 ? '' : `\n| Value | Meaning |\n| --- | --- |\n${values.join('\n')}\n`;
  return `\n#### \`${own} ${command.usage()}\`\n\n${escape(capital(command.description()))}.\n${table}${options(command, (long) => !SHARED.has(long))}`;
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function reference(): string {
  const { stdin, stdout, stderr } = process;
  const program = buildProgram(
    { stdin, stdout, stderr, env: {}, cwd: '/', interrupts: new Interrupts() },
    '',
  );
  const shown = program.commands.filter((each) => !each.name().startsWith('_'));
  const codes = EXIT_MEANINGS.map(([code, meaning]) => `| ${code} | ${meaning} |`).join('\n');
  return `${HEAD}
## Options of every command
${options(program, (long) => SHARED.has(long))}
## Exit codes

| Code | Meaning |
| --- | --- |
${codes}

A failure is one line on stderr; with \`--json\` that line is JSON: \`error\`, \`hint\`, \`code\` (the daemon's) and \`exit_code\`.

## Commands
${shown.map((each) => section(each, 'atoll')).join('')}`;
}

const text = await format(reference(), { ...(await resolveConfig(TARGET)), filepath: TARGET });
if (process.argv[2] === '--write') await writeFile(TARGET, text);
else if ((await readFile(TARGET, 'utf8').catch(() => '')) !== text) {
  console.error('docs/cli.md is not what the commands are: npm run cli:reference');
  process.exitCode = 1;
}
