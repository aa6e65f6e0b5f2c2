import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { HostSettings } from './settings.ts';

const Note = z.object({
  /** Devices that were not there before. */
  links: z.array(z.string()),
  /** Kernel settings as they were, by their path below /proc/sys. */
  kernel: z.record(z.string(), z.string()),
  /** Mode and group of device files as they were. */
  devices: z.record(z.string(), z.object({ mode: z.number(), gid: z.number() })),
});

/** What the set-up found before it changed it, so that the tear-down can bring back just that. */
export type Note = z.output<typeof Note>;

const pathOf = ({ runDir, plan }: HostSettings) => join(runDir, `${plan.bridge}.json`);

export async function readNote(settings: HostSettings): Promise<Note | undefined> {
  try {
    return Note.parse(JSON.parse(await readFile(pathOf(settings), 'utf8')));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Adds to what is noted. What is noted already stays: a second set-up finds what the first one made. */
export async function addNote(settings: HostSettings, { links, kernel, devices }: Note): Promise<void> {
  const old = await readNote(settings);
  const note: Note = {
    links: [...new Set([...(old?.links ?? []), ...links])],
    kernel: { ...kernel, ...old?.kernel },
    devices: { ...devices, ...old?.devices },
  };
  const path = pathOf(settings);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, JSON.stringify(note));
}

export async function removeNote(settings: HostSettings): Promise<void> {
  await rm(pathOf(settings), { force: true });
}
