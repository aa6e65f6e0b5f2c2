import type { FileHandle } from 'node:fs/promises';

// Where things are in an ext4 superblock: Documentation/filesystems/ext4/super.rst of Linux.
const SUPERBLOCK_AT = 1024;
const SUPERBLOCK_BYTES = 1024;
const MAGIC = { at: 0x38, value: 0xef53 };
const BLOCKS_LO_AT = 0x04;
const LOG_BLOCK_SIZE_AT = 0x18;
const INCOMPAT_AT = 0x60;
const BLOCKS_HI_AT = 0x150;
const INCOMPAT = { recover: 0x4, sixtyFourBit: 0x80 };

/** What the head of an ext4 file tells. */
export interface Superblock {
  /** Size of the file system in bytes. */
  readonly bytes: number;
  /** Its journal holds what was not written to its place: it was not unmounted. */
  readonly needsRecovery: boolean;
}

/** Reads the superblock of a file; undefined when it has none. */
export async function readSuperblock(file: FileHandle): Promise<Superblock | undefined> {
  const head = Buffer.alloc(SUPERBLOCK_BYTES);
  const { bytesRead } = await file.read(head, 0, head.length, SUPERBLOCK_AT);
  if (bytesRead < head.length || head.readUInt16LE(MAGIC.at) !== MAGIC.value) return undefined;
  const incompat = head.readUInt32LE(INCOMPAT_AT);
  const high = incompat & INCOMPAT.sixtyFourBit ? head.readUInt32LE(BLOCKS_HI_AT) : 0;
  const blocks = high * 2 ** 32 + head.readUInt32LE(BLOCKS_LO_AT);
  const blockSize = 1024 * 2 ** head.readUInt32LE(LOG_BLOCK_SIZE_AT);
  return { bytes: blocks * blockSize, needsRecovery: (incompat & INCOMPAT.recover) !== 0 };
}
