import { open } from 'node:fs/promises';

// QEMU's docs/interop/qcow2.txt. All numbers are big-endian.
const MAGIC = 0x514649fb;
const VERSION = 3;
const HEADER_BYTES = 104;
const CLUSTER_BITS = 16;
const CLUSTER = 1 << CLUSTER_BITS;
// A count of 16 bits for each cluster.
const REFCOUNT_ORDER = 4;
const BACKING_FORMAT_EXTENSION = 0xe2792aca;
const END_OF_EXTENSIONS = 0;
// An L1 entry stands for a cluster of L2 entries, 8 bytes each, each for a cluster of data.
const BYTES_PER_L1_ENTRY = CLUSTER * (CLUSTER / 8);
// What a backing file's name may take at most.
const MAX_NAME_BYTES = 1023;
// Beyond the file systems of hosts; the table for it takes 1 MiB.
const MAX_DISK_BYTES = 64n * 2n ** 40n;

/** What a layer says of itself. */
export interface LayerHeader {
  /** Size of the disk in bytes. */
  readonly size: bigint;
  /** What lies under it, as written in the file. */
  readonly backing: string;
  /** In which format QEMU is to read that. */
  readonly backingFormat: 'raw' | 'qcow2';
}

/** Reads a layer's header. Rejects when the file is none that Atoll makes: QEMU would read from elsewhere what such a one says. */
export async function readLayerHeader(path: string): Promise<LayerHeader> {
  await using file = await open(path, 'r');
  const { buffer, bytesRead } = await file.read(Buffer.alloc(CLUSTER), 0, CLUSTER, 0);
  if (bytesRead < HEADER_BYTES || buffer.readUInt32BE(0) !== MAGIC)
    throw new Error(`${path} is no qcow2 layer`);
  const size = buffer.readBigUInt64BE(24);
  const isPlain =
    buffer.readUInt32BE(4) === VERSION &&
    buffer.readUInt32BE(20) === CLUSTER_BITS &&
    buffer.readUInt32BE(32) === 0 && // Encryption.
    buffer.readBigUInt64BE(72) === 0n && // What a reader must know of: damage, data in another file.
    size <= MAX_DISK_BYTES;
  if (!isPlain) throw new Error(`${path} is no layer as Atoll makes them`);
  const at = Number(buffer.readBigUInt64BE(8));
  const length = buffer.readUInt32BE(16);
  if (at === 0 || length > MAX_NAME_BYTES || at + length > bytesRead)
    throw new Error(`${path} names nothing that it stands on`);
  return { size, backing: buffer.toString('utf8', at, at + length), backingFormat: formatIn(buffer, path) };
}

/** The format of what lies under, which stands among the header's extensions: type, length, bytes padded to 8. */
function formatIn(header: Buffer, path: string): LayerHeader['backingFormat'] {
  let at = header.readUInt32BE(100);
  while (at + 8 <= header.length) {
    const length = header.readUInt32BE(at + 4);
    if (header.readUInt32BE(at) === BACKING_FORMAT_EXTENSION) {
      const format = header.toString('latin1', at + 8, at + 8 + length);
      if (format === 'raw' || format === 'qcow2') return format;
    }
    if (header.readUInt32BE(at) === END_OF_EXTENSIONS) break;
    at += 8 + Math.ceil(length / 8) * 8;
  }
  throw new Error(`${path} does not say in which format its base is`);
}

/**
 * The metadata of an empty layer over another: header, table and block of reference counts, L1 table. qemu-img makes the same in
 * 20 to 50 ms, which a resume has not.
 */
export function emptyLayer(
  size: bigint,
  backing: string,
  backingFormat: LayerHeader['backingFormat'] = 'qcow2',
): Buffer {
  const name = Buffer.from(backing);
  if (name.length > MAX_NAME_BYTES)
    throw new Error(`${backing} is too long for a layer's name: at most ${MAX_NAME_BYTES} bytes`);
  const l1Entries = Math.ceil(Number(size) / BYTES_PER_L1_ENTRY);
  const clusters = 3 + Math.max(1, Math.ceil((l1Entries * 8) / CLUSTER));
  const file = Buffer.alloc(clusters * CLUSTER);
  writeHeader(file, size, l1Entries, name, backingFormat);
  file.writeBigUInt64BE(BigInt(2 * CLUSTER), CLUSTER); // The table names the one block.
  for (let cluster = 0; cluster < clusters; cluster += 1) file.writeUInt16BE(1, 2 * CLUSTER + 2 * cluster);
  return file;
}

function writeHeader(
  file: Buffer,
  size: bigint,
  l1Entries: number,
  name: Buffer,
  backingFormat: string,
): void {
  const format = Buffer.from(backingFormat.padEnd(8, '\0'));
  const nameAt = HEADER_BYTES + 8 + format.length + 8;
  file.writeUInt32BE(MAGIC, 0);
  file.writeUInt32BE(VERSION, 4);
  file.writeBigUInt64BE(BigInt(nameAt), 8);
  file.writeUInt32BE(name.length, 16);
  file.writeUInt32BE(CLUSTER_BITS, 20);
  file.writeBigUInt64BE(size, 24);
  file.writeUInt32BE(l1Entries, 36);
  file.writeBigUInt64BE(BigInt(3 * CLUSTER), 40);
  file.writeBigUInt64BE(BigInt(CLUSTER), 48);
  file.writeUInt32BE(1, 56);
  file.writeUInt32BE(REFCOUNT_ORDER, 96);
  file.writeUInt32BE(HEADER_BYTES, 100);
  file.writeUInt32BE(BACKING_FORMAT_EXTENSION, HEADER_BYTES);
  file.writeUInt32BE(backingFormat.length, HEADER_BYTES + 4);
  format.copy(file, HEADER_BYTES + 8);
  name.copy(file, nameAt); // Behind an extension of type 0, which ends them.
}
