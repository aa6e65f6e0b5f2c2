/**
 * Says of each thing that a host needs for Atoll whether it is there, one a line; if not, what is wrong and the command, as
 * root, that mends it. Changes nothing. As root it looks at other firewalls too.
 */
import { join } from 'node:path';
import { checkNetwork, checkTools, checkUser } from './checks.ts';
import { checkDevices } from './devices.ts';
import { checkDisk, checkFiles } from './files.ts';
import { shellWords } from './finding.ts';
import type { Fault, Finding } from './finding.ts';
import { checkFirewalls } from './firewalls.ts';
import { checkPrograms } from './programs.ts';
import { checkJail } from './jail.ts';
import { readSettings } from './settings.ts';
import type { HostSettings } from './settings.ts';

// Of one kind of fault, such as taps that are missing: the set-up mends more than these in one go.
const SHOWN_OF_A_KIND = 2;

function describe(found: Finding): string {
  if (found.ok) return `ok  ${found.subject}: ${found.text}`;
  const mend = found.mend.map(shellWords).join(' && ');
  return `!!  ${found.subject}: ${found.text}; mend it: ${found.advice ?? mend}`;
}

function printFaults(faults: readonly Fault[], { root }: HostSettings): void {
  for (const found of faults.slice(0, SHOWN_OF_A_KIND)) console.log(describe(found));
  const rest = faults.length - SHOWN_OF_A_KIND;
  const setUp = shellWords([process.execPath, join(root, 'host/network/setup.ts')]);
  if (rest > 0) console.log(`!!  ${faults[0]?.subject}: and ${rest} more; mend them all: ${setUp}`);
}

const settings = await readSettings(process.env);
const findings = [
  ...checkTools(),
  ...(await Promise.all([
    checkPrograms(),
    checkUser(settings),
    checkDevices(settings),
    checkNetwork(settings),
    checkFirewalls(settings),
    checkJail(settings),
    checkFiles(settings),
    checkDisk(settings),
  ])),
].flat();

const faults = Map.groupBy(
  findings.filter((found) => !found.ok),
  ({ subject }) => subject,
);
for (const found of findings) if (found.ok) console.log(describe(found));
for (const kind of faults.values()) printFaults(kind, settings);
process.exitCode = faults.size === 0 ? 0 : 1;
