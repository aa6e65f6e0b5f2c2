import { createReadStream, createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { Transform, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib';

// Level 1 packs a guest's memory to nearly what level 3 does, at twice the speed; a checksum finds what the disk lost.
const PACKING = {
  params: { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_checksumFlag]: 1 },
};

// A file system's block is 4 KiB; runs of zeros are left out by as much as a chunk of the stream.
const BLOCK_BYTES = 64 * 1024;

/** Packs a file into a new one (zstd), which is on disk when this answers. Leaves whatever it wrote when it fails. */
export async function packFile(from: string, to: string, signal: AbortSignal): Promise<void> {
  await pipeline(
    createReadStream(from, { highWaterMark: 1024 * 1024 }),
    createZstdCompress(PACKING),
    createWriteStream(to, { flags: 'wx', mode: 0o600, flush: true }),
    { signal },
  );
}

/** Unpacks a file into a new one, in which runs of zeros are holes. Leaves whatever it wrote when it fails. */
export async function unpackFile(from: string, to: string, signal: AbortSignal): Promise<void> {
  await using file = await open(to, 'wx', 0o600);
  const zeros = Buffer.alloc(BLOCK_BYTES);
  let at = 0;
  const sink = new Writable({
    write: (block: Buffer, _encoding, done) => {
      const place = at;
      at += block.length;
      if (zeros.subarray(0, block.length).equals(block)) done();
      else
        file.write(block, 0, block.length, place).then(
          () => done(),
          (error: unknown) => done(error as Error),
        );
    },
  });
  await pipeline(createReadStream(from), createZstdDecompress(), inBlocks(), sink, { signal });
  await file.truncate(at);
  await file.sync();
}

/** Cuts a stream into blocks of one size, the last as long as what is left. */
function inBlocks(): Transform {
  let rest: Buffer = Buffer.alloc(0);
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      let from = 0;
      for (; rest.length - from >= BLOCK_BYTES; from += BLOCK_BYTES)
        this.push(rest.subarray(from, from + BLOCK_BYTES));
      rest = rest.subarray(from);
      done();
    },
    flush(done) {
      done(null, rest.length === 0 ? undefined : rest);
    },
  });
}
