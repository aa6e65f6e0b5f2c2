import type { Deadline } from '../lib/deadline.ts';
import { configure, namesOf } from './identity.ts';
import { orMachineEnd } from './launch.ts';
import { restoreFailure } from './restore.ts';
import type { Loaded } from './restore.ts';

// The health check of a claim, and what goes through all that a caller's first command does: a program with output, a shell.
const REHEARSED = [
  { command: 'true', args: [], env: {} },
  { command: 'echo', args: ['ready'], env: {} },
  { command: '/bin/sh', args: ['-c', 'echo ready'], env: {} },
];

/**
 * Lets a loaded machine run for a moment and pauses it again: what a claim will ask of its guest was asked once then, and what is known of
 * its identity was told. Under emulation the first time takes ten times as long as the next. Nothing gets out: its network is closed. Fails
 * as `restore` does.
 * @param id that of the sandbox which it will be.
 */
export async function rehearse(loaded: Loaded, id: string, deadline: Deadline): Promise<Loaded> {
  const { machine, line, lease, resources, restoration } = loaded;
  await using stack = new AsyncDisposableStack();
  stack.use(resources);
  try {
    await machine.resume(deadline);
    const session = await orMachineEnd(machine, line.open(deadline));
    stack.defer(() => session.close());
    const told = { ...namesOf({ id, name: undefined }), network: lease };
    await orMachineEnd(machine, configure(session, told, deadline.signal));
    for (const command of REHEARSED)
      await orMachineEnd(
        machine,
        session.exec(command, () => undefined, deadline.signal),
      );
    await machine.pause(deadline);
    return { ...loaded, session, told, resources: stack.move() };
  } catch (error) {
    throw restoreFailure(error, restoration.snapshot, deadline);
  }
}
